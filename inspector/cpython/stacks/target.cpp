#include "inspector/cpython/stacks/target.h"

#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/process_stat.h"

namespace hangdbg {

LiveTarget::LiveTarget(const PythonProcess& process)
    : Target(process.pid,
             process.memory,
             process.maps,
             process.modules,
             process.python,
             TargetFiles(process.pid)) {}

Result<std::vector<int>> LiveTarget::threads() const {
  return list_tasks(pid);
}

Result<TaskIds> LiveTarget::tasks() const {
  return TaskIds::read(pid);
}

Result<ThreadSample> LiveTarget::look(PythonStackReader& stacks,
                                      const PythonThread& thread,
                                      const SampleOptions& options) const {
  return sample_thread(pid, memory, python, stacks, thread, options);
}

std::string LiveTarget::name() const {
  const auto stat = read_task_stat(pid, pid);
  return stat ? stat->comm : "";
}

std::vector<std::string> LiveTarget::command_line() const {
  return read_command_line(pid);
}

std::optional<double> LiveTarget::age_s() const {
  return process_age_s(pid);
}

}  // namespace hangdbg
