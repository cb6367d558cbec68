// The GIL's holder, and the threads that Python knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {

// An interpreter's GIL at one moment; it may change the next.
struct GilState {
  bool enabled = true;  // false in a free-threaded process, unless switched on
  bool locked = false;
  Address locked_word;  // an int in the target: 1 while held; from 3.7
  Address holder;       // PyThreadState of its holder; 0: none
  std::optional<int> holder_tid;  // our number; empty if it could not be told
};

// Of the interpreter with that number; up to 3.11 all share the main one's.
// Errors: NotInitialized when there is no interpreter yet; Unreadable.
Result<GilState> read_gil(const MemoryReader& memory,
                          const PythonRuntime& python,
                          const TaskIds& tasks,
                          std::int64_t interpreter = 0);

// Whether a thread in that call waits for the GIL.
bool is_gil_wait(const GilState& gil, const TaskSyscall& call);

// A thread that has a PyThreadState, and the place of its Python code.
struct PythonThread {
  Address state;                 // PyThreadState
  std::int64_t interpreter = 0;  // 0 is the main one
  std::uint64_t ident = 0;       // threading.get_ident(): the pthread_t
  std::optional<int> tid;        // our number; empty if it could not be told
  bool attached = false;         // runs Python or C that keeps others waiting;
                                 // told of free-threaded builds only
  bool suspended = false;        // by a pause of all threads; likewise
  Address frame;                 // innermost frame; 0 when it runs no Python
  std::uint64_t position = 0;    // its instruction: differs after progress
  std::string function;          // qualified from 3.11 on; "" when unknown
  std::string file;              // as in co_filename; "" when unknown

  // Two looks at one thread: has Python code run between them? (Calls out and
  // back to the same instruction are not seen.)
  bool same_place(const PythonThread& other) const {
    return state == other.state && frame == other.frame &&
           position == other.position;
  }
};

// All of all interpreters, newest first as CPython keeps them. The list is
// read while the target runs; one that changes under us is read again. Without
// `places` their frames are not read. Errors: NotInitialized, Unreadable.
Result<std::vector<PythonThread>> python_threads(const MemoryReader& memory,
                                                 const PythonRuntime& python,
                                                 const TaskIds& tasks,
                                                 bool places = true);

// The same thread as it is now: its place and whether it is attached. Errors:
// Unreadable.
Result<PythonThread> look_again(const MemoryReader& memory,
                                const PythonRuntime& python,
                                PythonThread thread);

// In which interpreter the thread is. One that has entered another from the
// main one is known to both, and is in the newer.
Result<std::int64_t> interpreter_of(const MemoryReader& memory,
                                    const PythonRuntime& python,
                                    const TaskIds& tasks,
                                    int tid);

}  // namespace hangdbg
