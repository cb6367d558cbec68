#include "tracee/host/child_output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "base/fd.h"

namespace hangdbg {
namespace {

Result<int> start(const std::vector<std::string>& words, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, 1);
  ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  int pid = 0;
  const int failed = ::posix_spawnp(&pid, arguments[0], &files, nullptr,
                                    arguments.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    errno = failed;
    return fail_errno(fmt::format("cannot run {}", words[0]));
  }
  return pid;
}

// True at its end, false if time is up first.
bool read_all(int pipe, Deadline deadline, std::string& text) {
  constexpr std::size_t kMost = 1U << 20;
  std::array<char, 16384> chunk;
  while (text.size() < kMost) {
    pollfd one{pipe, POLLIN, 0};
    if (::poll(&one, 1, deadline.left_ms()) <= 0) {
      if (errno == EINTR && !deadline.expired()) {
        continue;
      }
      return false;
    }
    const ssize_t got = ::read(pipe, chunk.data(), chunk.size());
    if (got <= 0) {
      return true;
    }
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return true;
}

// Its exit status; none if it does not end.
std::optional<int> reap(int pid, Deadline deadline) {
  constexpr auto kPause = std::chrono::milliseconds(2);
  for (;;) {
    int status = 0;
    const int done = ::waitpid(pid, &status, WNOHANG);
    if (done == pid) {
      return status;
    }
    if (done < 0 && errno != EINTR) {
      return 0;  // another process has it
    }
    if (deadline.expired()) {
      return {};
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Result<std::string> output_of(const std::vector<std::string>& words,
                              Deadline deadline) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail_errno("cannot make a pipe");
  }
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const int pid = TRY(start(words, writer.get()));
  writer.reset();
  std::string text;
  const bool ended = read_all(reader.get(), deadline, text);
  auto status = ended ? reap(pid, deadline) : std::nullopt;
  if (!status) {
    ::kill(pid, SIGKILL);
    constexpr auto kGrace = std::chrono::milliseconds(200);
    reap(pid, Deadline::in(kGrace));
    return fail(ErrorId::TimedOut,
                fmt::format("{} did not end in time", words[0]));
  }
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    return fail(ErrorId::System, fmt::format("{} fails", words[0]));
  }
  return text;
}

}  // namespace hangdbg
