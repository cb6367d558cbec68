// The registers of one stopped thread on x86-64. Another architecture is
// another pair of files with the same class.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// The general registers, with the system call that the stop interrupted.
struct Registers {
  user_regs_struct raw{};

  Address pc() const { return {raw.rip}; }
  Address sp() const { return {raw.rsp}; }

  // Stopped on the way out of a system call (or in the middle of one that
  // the kernel will restart) rather than at some instruction.
  bool in_syscall() const { return static_cast<long long>(raw.orig_rax) >= 0; }
  long syscall_number() const { return static_cast<long>(raw.orig_rax); }
};

// Vector and floating-point state in the kernel's XSAVE layout; its size is
// whatever the CPU and kernel say.
struct ExtendedState {
  std::vector<std::byte> bytes;
};

// What a thread must hold for an interrupted call to be entered again by a
// plain jump: the instruction and the number in rax. The kernel does the same
// for a thread that it resumes itself (arch/x86/kernel/signal.c,
// arch_do_signal_or_restart).
struct ResumePoint {
  Address pc;
  std::uint64_t rax = 0;
};
ResumePoint resume_point(const Registers& registers);

// The bytes of the `syscall` instruction, which ends 2 bytes before the PC of
// a thread that is in a call.
inline constexpr std::byte kSyscallInstruction[2] = {std::byte{0x0f},
                                                     std::byte{0x05}};

// The ABI lets a leaf function use this much below the stack pointer.
inline constexpr std::uint64_t kRedZone = 128;

}  // namespace hangdbg
