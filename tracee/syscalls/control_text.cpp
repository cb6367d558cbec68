#include "tracee/syscalls/control_text.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "tracee/syscalls/named_values.h"
#include "tracee/syscalls/names.h"
#include "tracee/syscalls/quoted_bytes.h"
#include "tracee/syscalls/structures.h"

namespace hangdbg {
namespace {

// What tells how a terminal is read: line by line, with echo, by Ctrl-C.
constexpr NamedValue kTerminalModes[] = {
    NAMED(ISIG),   NAMED(ICANON), NAMED(ECHO),   NAMED(ECHOE), NAMED(ECHOK),
    NAMED(ECHONL), NAMED(NOFLSH), NAMED(TOSTOP), NAMED(IEXTEN)};

std::string lock_text(const MemoryReader& memory, Address at);
std::string terminal_text(const MemoryReader& memory, Address at);
std::string window_text(const MemoryReader& memory, Address at);
std::string interface_text(const MemoryReader& memory, Address at);

}  // namespace

bool fcntl_has_value(std::uint64_t command) {
  switch (command) {
    case F_GETFD:
    case F_GETFL:
    case F_GETOWN:
    case F_GETSIG:
    case F_GETLEASE:
    case F_GETPIPE_SZ:
    case F_GET_SEALS:
      return false;
    default:
      return true;
  }
}

std::string fcntl_value_text(const MemoryReader& memory,
                             std::uint64_t command,
                             std::uint64_t value) {
  switch (command) {
    case F_SETFD:
      return descriptor_flags(value);
    case F_SETFL:
      return open_flags(value);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return lock_text(memory, {value});
    default:
      return number_text(value);
  }
}

bool ioctl_has_value(std::uint64_t request) {
  return request != FIOCLEX && request != FIONCLEX && request != TIOCNOTTY;
}

bool ioctl_fills_in(std::uint64_t request) {
  switch (request) {
    case TCGETS:
    case TIOCGWINSZ:
    case TIOCGPGRP:
    case TIOCGPTN:
    case TIOCOUTQ:
    case FIONREAD:
    case SIOCGIFADDR:
    case SIOCGIFFLAGS:
    case SIOCGIFINDEX:
      return true;
    default:
      return false;
  }
}

std::string ioctl_value_text(const MemoryReader& memory,
                             std::uint64_t request,
                             std::uint64_t value) {
  switch (request) {
    case TIOCGPGRP:
    case TIOCSPGRP:
    case TIOCGPTN:
    case TIOCSPTLCK:
    case TIOCOUTQ:
    case FIONREAD:
    case FIONBIO:
      return int_at_text(memory, {value});
    case TCGETS:
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
      return terminal_text(memory, {value});
    case TIOCGWINSZ:
    case TIOCSWINSZ:
      return window_text(memory, {value});
    case SIOCGIFADDR:
    case SIOCGIFFLAGS:
    case SIOCGIFINDEX:
      return interface_text(memory, {value});
    case TIOCSCTTY:
      return number_text(value);
    default:
      return pointer_text(value);
  }
}

namespace {

std::string lock_text(const MemoryReader& memory, Address at) {
  const auto lock = memory.read_value<struct flock>(at);
  if (!lock) {
    return pointer_text(at.value);
  }
  return fmt::format("{{l_type={}, l_whence={}, l_start={}, l_len={}}}",
                     lock->l_type == F_RDLCK   ? "F_RDLCK"
                     : lock->l_type == F_WRLCK ? "F_WRLCK"
                                               : "F_UNLCK",
                     whence(static_cast<std::uint64_t>(lock->l_whence)),
                     lock->l_start, lock->l_len);
}

// The kernel's structure, which begins as the C library's.
std::string terminal_text(const MemoryReader& memory, Address at) {
  struct Modes {
    std::uint32_t input, output, control, local;
  };
  const auto modes = memory.read_value<Modes>(at);
  return modes ? fmt::format("{{c_lflag={}, ...}}",
                             flags_text(modes->local, kTerminalModes))
               : pointer_text(at.value);
}

std::string window_text(const MemoryReader& memory, Address at) {
  const auto size = memory.read_value<winsize>(at);
  return size
             ? fmt::format(
                   "{{ws_row={}, ws_col={}, ws_xpixel={}, "
                   "ws_ypixel={}}}",
                   size->ws_row, size->ws_col, size->ws_xpixel, size->ws_ypixel)
             : pointer_text(at.value);
}

std::string interface_text(const MemoryReader& memory, Address at) {
  return fmt::format("{{ifr_name={}, ...}}", path_text(memory, at));
}

}  // namespace
}  // namespace hangdbg
