// A thread's stack, all of it from one moment.
//
// A thread that sleeps is read as it is, and it is seen afterwards that it did
// not run meanwhile. One that runs is stopped for the few system calls that
// read its words (frame_chain.h), and resumed. Reading twice instead would not
// do: a hot loop comes back to the same words between two looks.
#pragma once

#include <chrono>
#include <functional>

#include "base/result.h"
#include "inspector/cpython/runtime/frame_chain.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {

struct ThreadSample {
  PythonStack stack;
  WaitSample wait;  // just before; empty if its number is unknown
  std::chrono::nanoseconds stopped{};  // upper bound of its stop
};

struct SampleOptions {
  std::size_t most = PythonStackReader::kMostFrames;
  bool may_stop = true;
  // What else is to be copied while the thread does not run. Of one asleep only
  // pc and sp are known. It counts only if the look that comes back is exact;
  // this may be called more than once.
  std::function<Status(const Registers&)> copy = {};
};

// Of a thread of the live process `pid`; one that Python does not know has no
// `state`, and no frames. Errors: Unreadable, NoSuchThread.
Result<ThreadSample> sample_thread(int pid,
                                   const MemoryReader& memory,
                                   const PythonRuntime& python,
                                   PythonStackReader& stacks,
                                   const PythonThread& thread,
                                   const SampleOptions& options = {});

}  // namespace hangdbg
