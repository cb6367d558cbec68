// The way across code without unwind information: musl's C library, what a JIT
// has made, hand-written assembly.
//
// Nothing says how large its frames are. But the code that called into it has
// unwind information, and its return address lies on the stack: the nearest
// word that does not contradict what the code says, and from which the unwinder
// comes to the stack's end. Older calls have left return addresses too; most of
// them lead nowhere, or to a call that calls something else.
#pragma once

#include <vector>

#include "base/deadline.h"
#include "inspector/native_stack.h"
#include "tracee/memory.h"
#include "tracee/proc_maps.h"

namespace hangdbg {

struct StackCopy;

// Goes on with a stack that ends `untabled`, and marks what it adds. Where no
// word leads to the end the stack stays as it is; where none is there at all,
// it has come to its end. `memory` has the copy's words.
void cross_gaps(NativeStack& stack,
                const StackCopy& copy,
                const MemoryReader& memory,
                const std::vector<Module>& modules,
                NativeUnwinder& unwinder,
                Deadline deadline);

}  // namespace hangdbg
