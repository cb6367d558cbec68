#include "tracee/ptrace/interrupted_calls.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

namespace hangdbg {

bool may_be_entered_again(long number) {
  switch (number) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_io_uring_enter:
    // Of sockets with SO_RCVTIMEO or SO_SNDTIMEO.
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
      return true;
    default:
      return false;
  }
}

bool returns_a_part(const TaskSyscall& call) {
  if (call.running) {
    return false;
  }
  switch (call.number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_copy_file_range:
      return true;
    case SYS_recvfrom:
      return (call.args[3] & MSG_WAITALL) != 0;
    case SYS_recvmsg:
      return (call.args[2] & MSG_WAITALL) != 0;
    default:
      return false;
  }
}

bool was_interrupted(const Registers& registers) {
  return registers.in_syscall() &&
         static_cast<long long>(registers.raw.rax) == -EINTR;
}

Registers before_call(const Registers& after) {
  Registers before = after;
  before.raw.rip -= sizeof kSyscallInstruction;
  before.raw.rax = before.raw.orig_rax;
  return before;
}

Registers after_interrupted_call(const Registers& before) {
  Registers after = before;
  after.raw.rip += sizeof kSyscallInstruction;
  after.raw.rax = static_cast<std::uint64_t>(-EINTR);
  return after;
}

}  // namespace hangdbg
