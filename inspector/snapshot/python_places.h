// The Python place of a traced thread that is stopped at a system call: the
// line that made the call.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "tracee/ptrace/traced_call.h"

namespace hangdbg {

// For one process.
class PythonPlaces {
 public:
  // Errors: those of open_python.
  static Result<std::unique_ptr<PythonPlaces>> open(int pid);

  // The `most` innermost frames; none of a thread that runs no Python.
  std::vector<PythonFrame> of(int tid, std::size_t most);

  void ended(int tid) { states_.erase(tid); }

 private:
  using Clock = std::chrono::steady_clock;

  explicit PythonPlaces(PythonProcess process)
      : process_(std::move(process)),
        memory_(process_.pid),
        stacks_(memory_, process_.python) {}
  std::optional<Address> state_of(int tid);

  const PythonProcess process_;
  const MemoryFile memory_;
  PythonStackReader stacks_;
  std::map<int, Address> states_;
  // Threads without Python must not have the list read at each of their calls.
  Clock::time_point listed_;
};

}  // namespace hangdbg
