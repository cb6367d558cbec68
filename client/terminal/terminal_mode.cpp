#include "client/terminal/terminal_mode.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hangdbg {

TerminalMode::TerminalMode() {
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    ::cfmakeraw(&raw);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
}

TerminalMode::~TerminalMode() {
  if (changed_) {
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
}

dap::Screen size_of_terminal() {
  winsize size{};
  dap::Screen screen;
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    screen.columns = size.ws_col;
    screen.rows = size.ws_row;
  }
  return screen;
}

// A file opened anew would be read from its beginning; a socket cannot be.
Fd open_input() {
  struct stat status {};
  const bool is_file =
      ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  Fd own(is_file ? -1
                 : ::open("/proc/self/fd/0", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  return own ? std::move(own) : Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
}

}  // namespace hangdbg
