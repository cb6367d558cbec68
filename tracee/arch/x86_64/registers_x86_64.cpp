#include "tracee/arch/x86_64/registers_x86_64.h"

#include <sys/syscall.h>

namespace hangdbg {
namespace {

// Kernel-internal codes that a tracer sees (include/linux/errno.h).
constexpr long long kERestartSys = -512;
constexpr long long kERestartNoIntr = -513;
constexpr long long kERestartNoHand = -514;
constexpr long long kERestartRestartBlock = -516;

}  // namespace

ResumePoint resume_point(const Registers& registers) {
  const user_regs_struct& raw = registers.raw;
  if (registers.in_syscall()) {
    switch (static_cast<long long>(raw.rax)) {
      case kERestartSys:
      case kERestartNoIntr:
      case kERestartNoHand:
        return {{raw.rip - sizeof kSyscallInstruction}, raw.orig_rax};
      case kERestartRestartBlock:
        return {{raw.rip - sizeof kSyscallInstruction}, SYS_restart_syscall};
      default:
        break;
    }
  }
  return {{raw.rip}, raw.rax};
}

}  // namespace hangdbg
