// OutOfProcessView: what can be said of a target without its help, in the same
// typed answers that the agent gives.
//
// Everything is read from its memory and /proc, so the answers do not wait for
// the GIL.
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/checks/preflight.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "protocol/requests/hello.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/threads.h"

namespace hangdbg {

class OutOfProcessView {
 public:
  // `target` must outlive the view.
  explicit OutOfProcessView(const AttachTarget& target);

  dap::Hello::Body hello() const;

  // The threads that run Python in that interpreter. Threads go by our
  // numbers. Errors: Unreadable, NoSuchProcess.
  Result<dap::Threads::Body> threads(std::int64_t interpreter);

  // A thread's frames, none if it runs no Python. They have no number by which
  // the agent would know them. Errors: Unreadable, NoSuchProcess.
  Result<dap::StackTrace::Body> stack(const dap::StackTrace::Arguments& wanted,
                                      std::int64_t interpreter);

  // Those of the last stack() that are in its answer, in its order.
  const std::vector<PythonFrame>& frames() const { return frames_; }

 private:
  Status find_threads(std::int64_t interpreter);

  const AttachTarget& target_;
  // As they were a moment ago: clients ask for one stack after another.
  std::vector<PythonThread> threads_;
  std::int64_t interpreter_ = 0;
  Deadline fresh_ = Deadline::in({});
  PythonStackReader stacks_;
  std::vector<PythonFrame> frames_;
};

}  // namespace hangdbg
