#include "nodes/processes/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(5);
constexpr auto kToStart = std::chrono::seconds(10);

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    note_refused_descriptor();
    return fail_errno("cannot create a pipe");
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> as_array(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) {
    all.push_back(word.data());
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

Result<NodeChild> start_child(const std::string& program,
                              std::vector<std::string> words,
                              std::vector<std::string> variables,
                              int end_signal,
                              bool with_input) {
  const auto argv = as_array(words);
  const auto envp = as_array(variables);
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  Pipe failed = TRY(make_pipe());
  Pipe in = with_input ? TRY(make_pipe()) : Pipe{};
  const pid_t us = ::getpid();
  NodeChild child;
  child.pid = ::fork();
  if (child.pid < 0) {
    return fail_errno("cannot start a process");
  }
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, end_signal);
    ::setpgid(0, 0);
    if (::getppid() == us) {
      const int input =
          with_input ? in.read.get() : ::open("/dev/null", O_RDONLY);
      ::dup2(input, STDIN_FILENO);
      ::dup2(out.write.get(), STDOUT_FILENO);
      ::dup2(err.write.get(), STDERR_FILENO);
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::signal(SIGPIPE, SIG_DFL);
      ::execvpe(program.c_str(), argv.data(), envp.data());
      const int why = errno;
      (void)!::write(failed.write.get(), &why, sizeof(why));
    }
    ::_exit(127);
  }
  failed.write.reset();
  // From a file system that does not answer it may never be started.
  pollfd started{failed.read.get(), POLLIN, 0};
  if (::poll(&started, 1, Deadline::in(kToStart).left_ms()) != 1) {
    ::kill(child.pid, SIGKILL);
    return fail(ErrorId::TimedOut,
                fmt::format("{} cannot be started in {}", printable(program),
                            human_duration(kToStart)),
                "type -a " + shell_quote(program));
  }
  int why = 0;
  if (::read(failed.read.get(), &why, sizeof(why)) == sizeof(why)) {
    ::waitpid(child.pid, nullptr, 0);
    errno = why;
    return fail_errno(fmt::format("cannot run {}", printable(program)));
  }
  child.in = std::move(in.write);
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  for (const Fd* const fd : {&child.in, &child.out, &child.err}) {
    if (*fd) {
      ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    }
  }
  return child;
}

std::vector<std::string> launcher_variables() {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("HANGDBG_")) {
      all.emplace_back(*each);
    }
  }
  return all;
}

std::string read_available(Fd& from) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (from) {
    const auto size = ::read(from.get(), buffer.data(), buffer.size());
    if (size > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
      if (text.size() > (std::size_t{4} << 20)) {
        break;  // the others are to have their turn
      }
    } else if (size < 0 && errno == EINTR) {
      continue;
    } else {
      if (size == 0 || errno != EAGAIN) {
        from.reset();
      }
      break;
    }
  }
  return text;
}

std::optional<int> reap_child(NodeChild& child) {
  int status = 0;
  if (::waitpid(child.pid, &status, WNOHANG) != child.pid) {
    return std::nullopt;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void end_child(NodeChild& child, int signal, Deadline deadline) {
  child.in.reset();
  ::kill(-child.pid, signal);
  while (!reap_child(child)) {
    if (deadline.expired()) {
      ::kill(-child.pid, SIGKILL);
      const Deadline last = Deadline::in(std::chrono::seconds(1));
      while (!reap_child(child) && !last.expired()) {
        ::poll(nullptr, 0, last.capped(kLookAgain).left_ms());
      }
      return;
    }
    ::poll(nullptr, 0, deadline.capped(kLookAgain).left_ms());
  }
}

}  // namespace hangdbg
