// A thread of Python that has entered another interpreter (PEP 734:
// InterpreterPoolExecutor, _interpreters.exec) has a state in each: one thread,
// whose innermost frames are those of the interpreter that it entered last.
#pragma once

#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// Makes one of those that have the same number.
void join_interpreters(std::vector<ThreadSnapshot>& threads);

// The state by which the program has named the thread: where it was started.
const PythonThread& named_state(const ThreadSnapshot& thread);

}  // namespace hangdbg
