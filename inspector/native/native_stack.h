// The native stack of one thread, read out of process.
//
// NativeUnwinder is exact: it follows the DWARF call frame information that
// each module carries in memory (.eh_frame_hdr), so a deleted file, a chroot or
// the vdso are no obstacle, and it never guesses: where the information ends,
// the stack is marked incomplete. stack_mentions() is the cheap question
// that mostly spares the exact answer.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct NativeFrame {
  Address pc;
  Address sp;
  std::optional<std::size_t> module;  // index into the unwinder's modules
  bool interrupted = false;  // pc is the next instruction, not a return address
  // A callee, perhaps not the nearest, has no unwind information: this frame
  // was found on the stack (stack_gap.h).
  bool behind_gap = false;

  // An address inside the instruction that is being executed: a return
  // address may lie behind the end of a function that does not return.
  Address code() const { return interrupted ? pc : pc - 1; }
};

struct NativeStack {
  std::vector<NativeFrame> frames;  // innermost first, never empty
  bool complete = false;     // the last frame's own CFI says it has no caller
  bool null_caller = false;  // or it has, and returns to 0
  bool untabled = false;  // it has none: the code is without unwind information
  bool baseless = false;  // its caller is found by rbp, which is not known
  Address base;           // rbp where it is untabled, as far as that is known
};

// For one process and one list of modules; keeps what it learned between
// calls (pages of read-only segments, libunwind's own cache), so the second
// thread costs a tenth of the first. Not for two threads at once.
class NativeUnwinder {
 public:
  static constexpr std::size_t kMaxFrames = 256;

  // Both must outlive the unwinder.
  NativeUnwinder(const MemoryReader& memory,
                 const std::vector<Module>& modules);
  ~NativeUnwinder();
  NativeUnwinder(const NativeUnwinder&) = delete;
  NativeUnwinder& operator=(const NativeUnwinder&) = delete;

  // `registers` of a thread that is stopped, or whose stack does not change.
  // For one asleep in a system call rip and rsp (TaskSyscall) nearly always
  // do, the others being 0, and else the stack ends `baseless`: a rehearsal
  // before the stop, which reads what will be needed in it.
  // Errors: Unreadable, System (no memory).
  Result<NativeStack> unwind(const user_regs_struct& registers,
                             Deadline deadline,
                             std::size_t most = kMaxFrames);

  // The function that this address is in, as far as its unwind information
  // tells: of a function in two parts, the part.
  std::optional<AddressRange> function_at(Address code);

 private:
  struct Impl;
  struct Access;  // libunwind's way into Impl
  std::unique_ptr<Impl> impl_;
};

// Whether any word of the stack from `sp` (the red zone below it included)
// up to `stack_end` lies in one of the ranges. Also true when the stack cannot
// be read or is deeper than 4 MiB: "yes" means "do the exact unwind".
// `ranges` are sorted by start and do not overlap.
bool stack_mentions(const MemoryReader& memory,
                    Address sp,
                    Address stack_end,
                    std::span<const AddressRange> ranges);

}  // namespace hangdbg
