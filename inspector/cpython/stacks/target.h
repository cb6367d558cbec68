// Target: the process that is looked at, alive or in a core file. Its memory
// says what Python does; this says the rest, which the kernel knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/cpython/stacks/thread_sample.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {

class Target {
 public:
  // All must outlive this.
  Target(int pid,
         const MemoryReader& memory,
         const std::vector<Mapping>& maps,
         const std::vector<Module>& modules,
         const PythonRuntime& python,
         TargetFiles files)
      : pid(pid),
        memory(memory),
        maps(maps),
        modules(modules),
        python(python),
        files(std::move(files)) {}
  virtual ~Target() = default;

  // All threads' numbers, main first. Errors: NoSuchProcess.
  virtual Result<std::vector<int>> threads() const = 0;
  // Errors: those of TaskIds::read.
  virtual Result<TaskIds> tasks() const = 0;
  // As sample_thread (thread_sample.h).
  virtual Result<ThreadSample> look(PythonStackReader& stacks,
                                    const PythonThread& thread,
                                    const SampleOptions& options) const = 0;
  virtual std::string name() const = 0;  // comm
  virtual std::vector<std::string> command_line() const = 0;
  virtual std::optional<double> age_s() const = 0;
  // What the descriptors of its system calls are, is asked of this process.
  virtual std::optional<int> live_pid() const = 0;

  const int pid;
  const MemoryReader& memory;
  const std::vector<Mapping>& maps;
  const std::vector<Module>& modules;
  const PythonRuntime& python;
  const TargetFiles files;
};

class LiveTarget final : public Target {
 public:
  explicit LiveTarget(const PythonProcess& process);

  Result<std::vector<int>> threads() const override;
  Result<TaskIds> tasks() const override;
  Result<ThreadSample> look(PythonStackReader& stacks,
                            const PythonThread& thread,
                            const SampleOptions& options) const override;
  std::string name() const override;
  std::vector<std::string> command_line() const override;
  std::optional<double> age_s() const override;
  std::optional<int> live_pid() const override { return pid; }
};

}  // namespace hangdbg
