#include "client/prompt/together.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/fd.h"
#include "client/prompt/run_line.h"
#include "client/prompt/stops.h"
#include "client/ranks/rank_prefix.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"

namespace hangdbg {
namespace {

RankPrinted captured(const std::function<int()>& work);
int await_step(AttachedRank& rank);
int say_interrupted(const AttachedRank& rank);

// What is written to that stream while it lives.
class Captured {
 public:
  explicit Captured(std::FILE* stream)
      : stream_(stream),
        kept_(::memfd_create("hangdbg", MFD_CLOEXEC)),
        before_(::dup(::fileno(stream))) {
    flush_output(stream);
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
    flush_output(stream_);
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

void show_printed(const AttachedRank& rank, const RankPrinted& printed) {
  const int number = rank.rank.value_or(0);
  print_of_rank(stdout, number, rank.state->out, printed.out);
  print_of_rank(stderr, number, rank.state->err, printed.err);
}

int run_together(const std::vector<AttachedRank*>& ranks,
                 const std::string& command,
                 const ShowPrinted& show) {
  int code = 0;
  // One Ctrl-C is for all of them.
  const auto is_interrupted = [&] {
    return code == exit_code(ErrorId::Interrupted);
  };
  const auto take = [&](const AttachedRank& rank, const RankPrinted& printed) {
    show(rank, printed);
    code = printed.code != 0 ? printed.code : code;
  };
  std::vector<std::pair<AttachedRank*, RankPrinted>> begun;
  for (AttachedRank* const one : ranks) {
    PromptState& state = *one->state;
    const Interruptible interruptible(*one->session);
    state.together = true;
    auto printed = captured([&] {
      if (is_interrupted()) {
        return say_interrupted(*one);
      }
      const Status there = go_to_stop(state);
      return there ? run_commands(state, {command})
                   : report(there.error(), state.err);
    });
    state.together = false;
    if (state.awaited) {
      begun.emplace_back(one, std::move(printed));
    } else {
      take(*one, printed);
    }
  }
  for (auto& [one, printed] : begun) {
    const Interruptible interruptible(*one->session);
    const RankPrinted more = captured([&, rank = one] {
      if (is_interrupted()) {
        rank->state->awaited.reset();
        return say_interrupted(*rank);
      }
      return await_step(*rank);
    });
    printed.out += more.out;
    printed.err += more.err;
    printed.code = more.code != 0 ? more.code : printed.code;
    take(*one, printed);
  }
  return code;
}

void show_stops(const std::vector<AttachedRank*>& ranks,
                const ShowPrinted& show) {
  for (AttachedRank* const one : ranks) {
    const Interruptible interruptible(*one->session);
    show(*one, captured([&] { return await_step(*one); }));
  }
}

namespace {

int await_step(AttachedRank& rank) {
  PromptState& state = *rank.state;
  const Status came =
      await_stop(state, std::exchange(state.awaited, std::nullopt));
  return came ? 0 : report(came.error(), state.err);
}

int say_interrupted(const AttachedRank& rank) {
  return show_failure(*rank.state,
                      {.id = ErrorId::Interrupted, .message = "interrupted"});
}

RankPrinted captured(const std::function<int()>& work) {
  Captured out(stdout);
  Captured err(stderr);
  RankPrinted printed;
  printed.code = work();
  printed.out = out.end();
  printed.err = err.end();
  return printed;
}

}  // namespace
}  // namespace hangdbg
