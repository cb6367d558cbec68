#include "client/terminal/awaited_input.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

namespace hangdbg {
namespace {

bool input_has_gone() {
  pollfd input = {STDIN_FILENO, 0, 0};
  return ::poll(&input, 1, 0) == 1;  // POLLHUP, POLLERR
}

}  // namespace

AwaitedInput::AwaitedInput(std::initializer_list<int> signals) {
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int number : signals) {
    ::sigaddset(&ours, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &ours, &before_);
}

AwaitedInput::~AwaitedInput() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int AwaitedInput::wait(std::span<pollfd> fds, const timespec* limit) const {
  return ::ppoll(fds.data(), fds.size(), limit, &before_);
}

AwaitedInput::Got AwaitedInput::read(char& byte) {
  termios mode{};
  const bool is_terminal = ::tcgetattr(STDIN_FILENO, &mode) == 0;
  const bool by_lines = is_terminal && (mode.c_lflag & ICANON) != 0;
  if (is_terminal && !by_lines && mode.c_cc[VMIN] != 0) {
    mode.c_cc[VMIN] = 0;  // a read comes back with nothing
    ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
  }
  const auto got =
      ::read(by_lines ? nonblocking_input() : STDIN_FILENO, &byte, 1);
  if (got == 1) {
    return Got::Byte;
  }
  if (got < 0) {
    return errno == EAGAIN || errno == EINTR ? Got::Nothing : Got::End;
  }
  return is_terminal && !by_lines && !input_has_gone() ? Got::Nothing
                                                       : Got::End;
}

// The flag is of the open file, which others have as their stdin, too.
int AwaitedInput::nonblocking_input() {
  if (!own_) {
    own_.reset(::open("/proc/self/fd/0",
                      O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  return own_ ? own_.get() : STDIN_FILENO;
}

}  // namespace hangdbg
