#include "inspector/cpython/stacks/subject.h"

#include <time.h>
#include <unistd.h>

#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

LiveSubject::LiveSubject(const InspectedProcess& process)
    : Subject(process.pid,
              process.memory,
              process.maps,
              process.modules,
              process.python,
              TargetFiles(process.pid)) {}

Result<std::vector<int>> LiveSubject::threads() const {
  return list_tasks(pid);
}

Result<TaskIds> LiveSubject::tasks() const {
  return TaskIds::read(pid);
}

Result<ThreadLook> LiveSubject::look(PythonStackReader& stacks,
                                     const PythonThread& thread,
                                     const LookOptions& options) const {
  return look_at_thread(pid, memory, python, stacks, thread, options);
}

std::string LiveSubject::name() const {
  const auto stat = read_task_stat(pid, pid);
  return stat ? stat->comm : "";
}

std::vector<std::string> LiveSubject::command_line() const {
  return read_command_line(pid);
}

std::optional<double> LiveSubject::age_s() const {
  const auto stat = read_task_stat(pid, pid);
  timespec now{};
  if (!stat || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    return {};
  }
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9 -
         static_cast<double>(stat->start_ticks) /
             static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace hangdbg
