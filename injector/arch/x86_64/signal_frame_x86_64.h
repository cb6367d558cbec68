// What the kernel puts on a thread's stack for a signal's handler, made by us:
// a thread that is stopped can be sent into a function as if a signal had come,
// without a signal, and so without a handler, that the whole program shares.
//
// When the function returns, to the libc's own rt_sigreturn, the kernel puts
// back registers, vector state and signal mask at once. See arch/x86/kernel/
// signal_64.c (x64_setup_rt_frame) and fpu/signal.c; sigreturn(2).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

// What the thread goes back to.
struct Interrupted {
  Registers registers;
  ExtendedState extended;
  std::uint64_t signal_mask = 0;
};

struct SignalFrame {
  Address at;  // the function's stack pointer on entry
  std::vector<std::byte> bytes;

  // Below the stack pointer and the red zone of where the thread was stopped.
  // What has no meaning for the kernel, uc_link, says of a call that will be
  // made again by which of the kernel's restart codes it ended. A call that is
  // to be made again is made again; one that waits for a time that only the
  // kernel remembers returns EINTR, as it does after a signal.
  static Result<SignalFrame> make(const Interrupted& interrupted,
                                  Address sigreturn);

  // What it holds when it enters the function there, with one argument.
  static Registers on_entry(const Registers& own,
                            Address frame,
                            Address function,
                            std::uint64_t argument);
};

// The libc's two instructions that a handler returns to (__restore_rt). Error:
// NoSafeThread when this module has none.
Result<Address> find_sigreturn(const MemoryReader& memory, const Module& libc);

}  // namespace hangdbg
