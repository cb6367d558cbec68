// What unwinding needs of a thread, copied while it does not run: so it may go
// on while its stack is worked on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "inspector/native/native_stack.h"
#include "inspector/native/stack_gap.h"
#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct StackCopy {
  Registers registers;           // of one asleep rip and rsp alone
  Address from;                  // the page that the stack pointer is in
  std::vector<std::byte> bytes;  // from there, up to kMost
  Address end;                   // of the stack

  static constexpr std::uint64_t kMost = 1U << 22;

  // Between two stack pointers, as far as it was copied.
  std::vector<std::uint64_t> words(Address first, Address last) const;
};

// Of a thread that does not run now. `maps` says where its stack ends. Errors:
// Unreadable.
Result<StackCopy> copy_stack(const MemoryReader& memory,
                             std::span<const Mapping> maps,
                             const Registers& registers);

// Unwinds copies; what is on no stack (code, its tables) is read from memory.
// Code without unwind information is crossed (stack_gap.h).
class CopyUnwinder {
 public:
  static constexpr std::size_t kMostFrames = 1U << 16;

  // Both must outlive the unwinder.
  CopyUnwinder(const MemoryReader& memory, const std::vector<Module>& modules)
      : overlay_(memory),
        unwinder_(overlay_, modules),
        gaps_(overlay_, modules, unwinder_) {}

  // Errors: Unreadable, System (no memory).
  Result<NativeStack> unwind(const StackCopy& copy, Deadline deadline);

  // As NativeUnwinder's.
  std::optional<AddressRange> function_at(Address code) {
    return unwinder_.function_at(code);
  }

 private:
  class Overlay final : public MemoryReader {
   public:
    explicit Overlay(const MemoryReader& under) : under_(under) {}
    Status read(Address from, std::span<std::byte> out) const override;
    const StackCopy* copy = nullptr;

   private:
    const MemoryReader& under_;
  };

  Overlay overlay_;
  NativeUnwinder unwinder_;
  GapCrosser gaps_;
};

}  // namespace hangdbg
