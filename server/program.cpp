#include "server/program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "agent/agent_source.h"
#include "server/exec_words.h"

namespace hangdbg {
namespace {

std::string text_of(const Program::Start& start);
Result<Fd> in_memory(const std::string& text);

}  // namespace

// Whether Python could be run is told by a pipe that exec closes.
Result<Program> Program::start(const Start& start,
                               const std::function<bool()>& before_exec) {
  const Fd text = TRY(in_memory(text_of(start)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail_errno("no pipe can be had", ErrorId::System);
  }
  const Fd failed(ends[0]);
  Fd fails(ends[1]);

  std::vector<std::string> line = {start.python};
  line.insert(line.end(), start.python_options.begin(),
              start.python_options.end());
  line.push_back(fmt::format("/dev/fd/{}", text.get()));
  line.insert(line.end(), start.words.begin(), start.words.end());
  const std::vector<char*> words = exec_words(line);
  auto variables = start.environment.value_or(std::vector<std::string>());
  const std::vector<char*> environment = exec_words(variables);

  const pid_t pid = ::fork();
  if (pid == 0) {
    if (before_exec() && ::fcntl(text.get(), F_SETFD, 0) == 0) {
      ::execvpe(words.front(), words.data(),
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
  return Program(pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
}

std::optional<int> Program::ended() {
  int status = 0;
  if (!code_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code_;
}

namespace {

std::string text_of(const Program::Start& start) {
  const auto truth = [](bool yes) { return yes ? "True" : "False"; };
  return fmt::format(
      "exec(compile(r'''{}''', '<hangdbg run>', 'exec'), {{'package': "
      "r'''{}''', "
      "'options': {{'caller': {}, 'signal': {}, 'patience': {}, 'module': {}, "
      "'post_mortem': {}, 'entry': {}, 'ready': {}}}}})\n",
      start_source(), package_source(), start.calls_us ? ::getpid() : 0,
      start.call, start.patience.count(), truth(start.module),
      truth(start.post_mortem), truth(start.entry), start.ready);
}

Result<Fd> in_memory(const std::string& text) {
  Fd file(
      static_cast<int>(::syscall(SYS_memfd_create, "hangdbg", MFD_CLOEXEC)));
  if (!file || ::write(file.get(), text.data(), text.size()) !=
                   static_cast<ssize_t>(text.size())) {
    return fail_errno("no file in memory can be had", ErrorId::System);
  }
  return file;
}

}  // namespace
}  // namespace hangdbg
