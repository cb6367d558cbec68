#include "client/ranks/together.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/host_name.h"
#include "base/text.h"
#include "client/interrupt.h"
#include "client/prompt/stops.h"

namespace hangdbg {
namespace {

int with_prefix(const AttachedRank& rank, const std::function<int()>& work);
int await_step(AttachedRank& rank);

// What is written to that stream while it lives.
class Captured {
 public:
  explicit Captured(std::FILE* stream)
      : stream_(stream),
        kept_(::memfd_create("hangdbg", MFD_CLOEXEC)),
        before_(::dup(::fileno(stream))) {
    std::fflush(stream);
    if (kept_ && before_) {
      ::dup2(kept_.get(), ::fileno(stream));
    }
  }
  ~Captured() { end(); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  std::string end() {
    if (!before_) {
      return {};
    }
    std::fflush(stream_);
    ::dup2(before_.get(), ::fileno(stream_));
    before_.reset();
    std::string text;
    std::array<char, 4096> part{};
    ssize_t size = 0;
    while ((size = ::pread(kept_.get(), part.data(), part.size(),
                           static_cast<off_t>(text.size()))) > 0) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  std::FILE* stream_;
  Fd kept_;
  Fd before_;
};

}  // namespace

int run_together(const std::vector<AttachedRank*>& ranks,
                 const std::string& command) {
  int code = 0;
  for (AttachedRank* const one : ranks) {
    PromptState& state = *one->state;
    const Interruptible interruptible(*one->session);
    state.together = true;
    const int done = with_prefix(*one, [&] {
      const Status there = go_to_stop(state);
      return there ? run_commands(state, {command})
                   : report(there.error(), state.err);
    });
    state.together = false;
    code = done != 0 ? done : code;
  }
  for (AttachedRank* const one : ranks) {
    if (one->state->awaited) {
      const Interruptible interruptible(*one->session);
      const int done = with_prefix(*one, [&] { return await_step(*one); });
      code = done != 0 ? done : code;
    }
  }
  return code;
}

void show_stops(const std::vector<AttachedRank*>& ranks) {
  for (AttachedRank* const one : ranks) {
    const Interruptible interruptible(*one->session);
    with_prefix(*one, [&] { return await_step(*one); });
  }
}

std::string rank_prefix(int rank, const Palette& palette) {
  return palette.bold(fmt::format("[{}:{}]", host_name(), rank));
}

namespace {

int await_step(AttachedRank& rank) {
  PromptState& state = *rank.state;
  const Status came =
      await_stop(state, std::exchange(state.awaited, std::nullopt));
  return came ? 0 : report(came.error(), state.err);
}

int with_prefix(const AttachedRank& rank, const std::function<int()>& work) {
  Captured out(stdout);
  Captured err(stderr);
  const int code = work();
  const std::array<std::pair<std::FILE*, std::string>, 2> texts = {
      {{stdout, out.end()}, {stderr, err.end()}}};
  for (const auto& [stream, text] : texts) {
    if (text.empty()) {
      continue;
    }
    const Palette& palette =
        stream == stdout ? rank.state->out : rank.state->err;
    const std::string prefix = rank_prefix(rank.rank.value_or(0), palette);
    for (const std::string_view line :
         split(std::string_view(text).substr(
                   0, text.size() - (text.ends_with('\n') ? 1 : 0)),
               '\n')) {
      print_now(stream, fmt::format("{} {}\n", prefix, line));
    }
  }
  return code;
}

}  // namespace
}  // namespace hangdbg
