// The way across code without unwind information: musl's C library, what a JIT
// has made, hand-written assembly.
//
// Nothing says how large its frames are. But the code that called into it has
// unwind information, and its return address lies on the stack: the nearest
// word that does not contradict what the code says, and from which the unwinder
// reaches the stack's end. Older calls have left return addresses too; most of
// them lead nowhere, or to a call that calls something else.
//
// Of a thread asleep, which is not stopped for a look, rbp is not known. Where
// a function keeps its frame's address there (one that makes room as it goes,
// like libffi's), that is looked for in the same way.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/deadline.h"
#include "inspector/native/native_stack.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct StackCopy;

// For one process, of which it keeps what its code says.
class GapCrosser {
 public:
  // All must outlive this; `memory` has the words of each copy, while it is
  // worked on.
  GapCrosser(const MemoryReader& memory,
             const std::vector<Module>& modules,
             NativeUnwinder& unwinder);

  // Continues a stack that ends `untabled` or `baseless`, and marks what it
  // adds behind code without unwind information. Where no word leads to the end
  // the stack stays as it is; where there is none at all, it has reached its
  // end.
  void cross(NativeStack& stack, const StackCopy& copy, Deadline deadline);

 private:
  class Crossing;

  bool is_return_address(Address word, Deadline deadline);
  bool can_lead_to_untabled(Address code, Deadline deadline);
  bool is_untabled(Address code);
  bool is_in_module(Address code) const;

  const MemoryReader& memory_;
  NativeUnwinder& unwinder_;
  std::vector<AddressRange> text_;  // of all modules, sorted
  std::unordered_map<Address, bool> return_addresses_;
};

}  // namespace hangdbg
