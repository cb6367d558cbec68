// asyncio's tasks, each with what was read to tell it: so that it can be proved
// later, in the few microseconds of a stop, that it is still so.
#pragma once

#include <map>
#include <vector>

#include "inspector/cpython/async/asyncio_tasks.h"
#include "inspector/cpython/objects/noted_reads.h"

namespace hangdbg {

struct TaskNotes {
  Address loop;  // that runs it
  Address root;  // the frame of its coroutine: the outermost of its own
  // That this frame is the task's, whatever it does.
  ReadNotes root_of_task;
  // That it is suspended where it was, and waits for what it did.
  ReadNotes all;
};

// As read_asyncio_tasks. `notes`: of each by its address; may be null.
AsyncioTasks read_noted_tasks(const ObjectReader& objects,
                              const PythonRuntime& python,
                              const std::vector<Module>& modules,
                              const TargetFiles& files,
                              PythonStackReader& stacks,
                              const std::vector<PythonThread>& threads,
                              std::map<Address, TaskNotes>* notes);

}  // namespace hangdbg
