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

namespace hangdbg {
namespace {

std::string text_of(const Program::Start& start);
Result<Fd> in_memory(const std::string& text);

}  // namespace

// Whether Python could be run is told by a pipe that exec closes.
Result<Program> Program::start(const Start& start, void (*before_exec)()) {
  const Fd text = TRY(in_memory(text_of(start)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail_errno("no pipe can be had", ErrorId::System);
  }
  const Fd failed(ends[0]);
  Fd fails(ends[1]);

  const std::string file = fmt::format("/dev/fd/{}", text.get());
  std::vector<char*> words = {const_cast<char*>(start.python.c_str()),
                              const_cast<char*>(file.c_str())};
  words.insert(words.end(), start.words.begin(), start.words.end());
  words.push_back(nullptr);

  const pid_t pid = ::fork();
  if (pid == 0) {
    ::fcntl(text.get(), F_SETFD, 0);
    before_exec();
    ::execvp(words.front(), words.data());
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
      "'options': {{'caller': {}, 'patience': {}, 'module': {}, "
      "'post_mortem': {}, 'entry': {}}}}})\n",
      start_source(), package_source(), start.calls_us ? ::getpid() : 0,
      start.patience.count(), truth(start.module), truth(start.post_mortem),
      truth(start.entry));
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
