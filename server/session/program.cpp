#include "server/session/program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "agent/agent_source.h"
#include "server/session/exec_words.h"
#include "server/session/target_end.h"

namespace hangdbg {
namespace {

// The name of that file stays in the program as that of a frame, and is opened
// for a traceback: it is not to be that of a descriptor of the program's.
constexpr int kHighNumber = 1000;

// `held`: what a child waits for, as Python.
std::string text_of(const Program::Start& start,
                    std::string_view held = "None");

}  // namespace

// Whether Python could be run is told by a pipe that exec closes.
Result<Program> Program::start(const Start& start,
                               const std::function<bool()>& before_exec) {
  const Fd file = TRY(text(start));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail_errno("no pipe can be had", ErrorId::System);
  }
  const Fd failed(ends[0]);
  Fd fails(ends[1]);

  auto line = words(start, fmt::format("/dev/fd/{}", file.get()));
  const std::vector<char*> argv = exec_words(line);
  auto variables = start.environment.value_or(std::vector<std::string>());
  const std::vector<char*> environment = exec_words(variables);

  const pid_t pid = ::fork();
  if (pid == 0) {
    if (before_exec() && ::fcntl(file.get(), F_SETFD, 0) == 0) {
      ::execvpe(argv.front(), argv.data(),
                start.environment ? environment.data() : environ);
    }
    const int why = errno;
    [[maybe_unused]] const auto told = ::write(fails.get(), &why, sizeof why);
    ::_exit(127);
  }
  if (pid < 0) {
    return fail_errno("no process can be started", ErrorId::System);
  }
  fails.reset();
  int why = 0;
  if (::read(failed.get(), &why, sizeof why) == sizeof why) {
    ::waitpid(pid, nullptr, 0);
    return std::unexpected(Error{.id = ErrorId::Usage,
                                 .message = "cannot run " + start.python,
                                 .hint = "--python EXECUTABLE",
                                 .errno_value = why});
  }
  return Program(pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
                 true);
}

Result<Fd> Program::text(const Start& start) {
  const std::string text = text_of(start);
  Fd file(
      static_cast<int>(::syscall(SYS_memfd_create, "hangdbg", MFD_CLOEXEC)));
  if (!file || ::write(file.get(), text.data(), text.size()) !=
                   static_cast<ssize_t>(text.size())) {
    return fail_errno("no file in memory can be had", ErrorId::System);
  }
  Fd high(::fcntl(file.get(), F_DUPFD_CLOEXEC, kHighNumber));
  return high ? std::move(high) : std::move(file);
}

std::string Program::text_for_children(std::chrono::seconds patience) {
  Start start;
  start.call = 0;
  return text_of(start, fmt::format("({}, @watched@)", patience.count()));
}

std::vector<std::string> Program::words(const Start& start,
                                        const std::string& file) {
  std::vector<std::string> line = {start.python};
  line.insert(line.end(), start.python_options.begin(),
              start.python_options.end());
  line.push_back(file);
  line.insert(line.end(), start.words.begin(), start.words.end());
  return line;
}

Result<Program> Program::of_another(int pid) {
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    return fail_errno(fmt::format("process {} has ended", pid),
                      ErrorId::TargetDied);
  }
  return Program(pid, std::move(pidfd), false);
}

std::optional<int> Program::ended() {
  int status = 0;
  if (!code_ && is_child_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pollfd end{pidfd_.get(), POLLIN, 0};
  if (!code_ && !is_child_ && ::poll(&end, 1, 0) == 1) {
    code_ = code_of_another(pid_, pidfd_.get()).value_or(kUnknown);
  }
  return code_;
}

// A process that is not our child may be reaped, and its number another's.
void Program::send(int signal) {
  if (is_child_ && !ended()) {
    ::kill(pid_, signal);
  } else if (!is_child_) {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
  }
}

namespace {

std::string text_of(const Program::Start& start, std::string_view held) {
  const auto truth = [](bool yes) { return yes ? "True" : "False"; };
  return fmt::format(
      "exec(compile(r'''{}''', '<hangdbg run>', 'exec'), {{'package': "
      "r'''{}''', "
      "'options': {{'caller': {}, 'signal': {}, 'patience': {}, 'module': {}, "
      "'post_mortem': {}, 'entry': {}, 'ready': {}, 'tell': '{}', "
      "'hold_forks': {}, 'held': {}}}}})\n",
      start_source(), package_source(), start.calls_us ? ::getpid() : 0,
      start.call, start.patience.count(), truth(start.module),
      truth(start.post_mortem), truth(start.entry), start.ready, start.tell,
      start.hold_forks.count(), held);
}

}  // namespace
}  // namespace hangdbg
