// C functions in the stack that an editor is shown, if it has asked for them
// ("native": true): each as a `subtle` frame, without variables.
//
// Threads: any. Takes some milliseconds to some hundred, the first time.
#pragma once

#include <cstdint>
#include <vector>

#include "injector/checks/preflight.h"
#include "protocol/stack_frame.h"
#include "server/session/out_of_process_values.h"

namespace hangdbg {

// A thread's Python frames, all of them, with the C functions between them.
// Where the thread has run meanwhile, or its two stacks cannot be merged, the C
// functions are below the others, and a line in between says why.
std::vector<dap::StackFrame> with_native_frames(
    const AttachTarget& target,
    std::int64_t thread,
    std::vector<dap::StackFrame> python,
    OutOfProcessValues& numbers);

}  // namespace hangdbg
