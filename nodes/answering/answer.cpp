#include "nodes/answering/answer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/host_name.h"
#include "nodes/answering/frame_writer.h"
#include "nodes/answering/live.h"
#include "nodes/frames/frame.h"
#include "nodes/frames/pack.h"
#include "nodes/processes/child.h"
#include "nodes/program/own_program.h"
#include "protocol/base64.h"
#include "protocol/json.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

constexpr auto kBetweenSigns = std::chrono::seconds(1);
constexpr auto kToSayWhyLate = std::chrono::seconds(3);
constexpr auto kToEndInput = std::chrono::seconds(5);
constexpr unsigned kToWriteS = 60;
constexpr double kMostSeconds = 86'400;
constexpr std::size_t kMostOutput = std::size_t{256} << 20;

// Takes it out of what the command has written on standard error.
std::optional<std::string> take_error_name(std::string& err) {
  const auto mark = err.rfind(kErrorMark);
  if (mark == std::string::npos) {
    return std::nullopt;
  }
  const auto end = std::min(err.find('\n', mark), err.size());
  std::string name = err.substr(mark + 1, end - mark - 1);
  err.erase(mark, end + 1 - mark);
  return name;
}

struct Ran {
  std::string out, err;
  int code = 0;
  std::optional<std::string> failed;
  bool read = true;  // has a reader
};

// Whether the other end is still there.
bool wait_for_child(const NodeChild& child, Deadline deadline) {
  std::array<pollfd, 3> fds = {{{child.out.get(), POLLIN, 0},
                                {child.err.get(), POLLIN, 0},
                                {STDOUT_FILENO, 0, 0}}};
  ::poll(fds.data(), fds.size(), deadline.left_ms());
  return (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

// The asking side ends it, once it knows of our end. Where one process carries
// all nodes, it may take one that ends before its input for a failure of all
// (srun does).
void read_rest_of_input() {
  Fd input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  ::fcntl(input.get(), F_SETFL, O_NONBLOCK);
  const Deadline last = Deadline::in(kToEndInput);
  while (input && !last.expired()) {
    pollfd readable{input.get(), POLLIN, 0};
    ::poll(&readable, 1, last.left_ms());
    if (readable.revents != 0) {
      (void)read_available(input);
    }
  }
}

Ran run_command(const NodeRequest& request,
                std::vector<std::string> variables,
                FrameWriter& frames) {
  Ran ran;
  std::vector<std::string> words = request.words;
  words.insert(words.begin(), "hangdbg");
  auto child = start_child("/proc/self/exe", std::move(words),
                           std::move(variables), SIGKILL, false);
  if (!child) {
    ran.failed = child.error().text();
    return ran;
  }
  const auto time = std::chrono::duration_cast<Deadline::Clock::duration>(
      std::chrono::duration<double>(request.seconds));
  const Deadline last = Deadline::in(time + kToSayWhyLate);
  Deadline sign = Deadline::in(kBetweenSigns);
  while (child->out || child->err) {
    ran.read = wait_for_child(*child, last.capped(sign.left()));
    ran.out += read_available(child->out);
    ran.err += read_available(child->err);
    if (sign.expired()) {
      ran.read = ran.read && frames.write(FrameType::Alive, {});
      sign = Deadline::in(kBetweenSigns);
    }
    if (!ran.read || last.expired() || ran.out.size() > kMostOutput) {
      ran.failed = last.expired() ? "the command has not ended in time"
                                  : "its output is too long";
      end_child(*child, SIGINT, Deadline::in(kBetweenSigns));
      return ran;
    }
  }
  std::optional<int> code;
  while (!(code = reap_child(*child)) && !last.expired()) {
    ::poll(nullptr, 0, 1);
  }
  ran.code = code.value_or(1);
  return ran;
}

}  // namespace

Result<NodeRequest> read_request(const std::string& text) {
  auto request = TRY(decode<NodeRequest>(
      TRY(Json::parse(TRY(from_base64(text)))), "(request)"));
  if (request.version != 1 || request.words.empty() ||
      !(request.seconds > 0 && request.seconds <= kMostSeconds) ||
      !(request.silence > 0 && request.silence <= kMostSeconds)) {
    return fail(ErrorId::BadMessage, "this is no request of hangdbg");
  }
  return request;
}

int become_command(const NodeRequest& request,
                   std::vector<std::string> variables) {
  std::vector<std::string> words = request.words;
  words.insert(words.begin(), "hangdbg");
  std::vector<char*> argv, envp;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  for (std::string& variable : variables) {
    envp.push_back(variable.data());
  }
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  ::execve("/proc/self/exe", argv.data(), envp.data());
  return 1;
}

int answer_as_node(const NodeRequest& request,
                   std::vector<std::string> variables) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  // Also where the reader does not read, and keeps the pipe open.
  ::alarm(static_cast<unsigned>(request.seconds) + kToWriteS);
  FrameWriter frames;
  const NodeHello hello{
      .program = own_program_id(), .host = host_name(), .pid = ::getpid()};
  if (!frames.write(FrameType::Hello, encode(hello).dump())) {
    return 1;
  }
  variables.push_back(fmt::format("{}=1", kNodeVariable));
  if (request.live) {
    const NodeEnd end = run_live(request, std::move(variables), frames);
    const bool written = frames.write(FrameType::End, encode(end).dump());
    read_rest_of_input();
    return written ? 0 : 1;
  }
  Ran ran = run_command(request, std::move(variables), frames);
  if (!ran.read) {
    return 1;
  }
  const NodeEnd end{.code = ran.code,
                    .bytes = static_cast<std::int64_t>(ran.out.size()),
                    .failed = ran.failed,
                    .error = take_error_name(ran.err)};
  constexpr std::size_t kMostErrors = 64 << 10;
  const bool written =
      frames.write_pieces(FrameType::Output, pack(ran.out)) &&
      frames.write_pieces(FrameType::Errors,
                          std::string_view(ran.err).substr(0, kMostErrors)) &&
      frames.write(FrameType::End, encode(end).dump());
  return written ? 0 : 1;
}

}  // namespace hangdbg
