// The names that Python's threading module has given to threads, read
// out of process. The kernel knows them from 3.14 on only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_runtime.h"

namespace hangdbg {

// By interpreter and ident (PythonThread has both).
using ThreadNames =
    std::map<std::pair<std::int64_t, std::uint64_t>, std::string>;

// Those that can be read: none, where nothing has imported threading.
ThreadNames read_thread_names(const ObjectReader& objects,
                              const PythonRuntime& python);

// Whether threading has been told that the program has reached its end
// (threading._shutdown): what its main thread runs from then on are handlers of
// atexit and the like. No, where that cannot be read.
bool is_at_exit(const ObjectReader& objects, const PythonRuntime& python);

// As threading calls a thread of that process; where that does not know it,
// "MainThread" or the kernel's own name for it, which may be none.
std::string name_of(const ThreadNames& names,
                    int pid,
                    const PythonThread& thread);

// "thread 12 "worker""; "process 12" is its main thread.
std::string thread_words(int pid, int tid, std::string_view name);

// As the kernel calls it: if it has no name of its own, as the process.
std::string kernel_name(int pid, const PythonThread& thread);

// Whether the kernel's name is that of a thread of our agent, of another client
// perhaps.
inline bool is_agents_name(std::string_view name) {
  return name.starts_with("hangdbg-");
}

}  // namespace hangdbg
