#include "tracee/access/process_state.h"

#include <fmt/core.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/text.h"
#include "tracee/host/cgroups.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

constexpr std::uint32_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD
constexpr std::uint32_t kExitingFlag = 0x00000004;       // PF_EXITING

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// ---- state Z

// Threads that live on without the main one (pthread_exit in it).
int threads_that_go_on(int pid) {
  int count = 0;
  if (const auto tids = list_tasks(pid)) {
    for (const int tid : *tids) {
      const auto stat = read_task_stat(pid, tid);
      count += tid != pid && stat && (stat->flags & kExitingFlag) == 0;
    }
  }
  return count;
}

std::unexpected<Error> has_ended(int pid, const ProcStatus& status) {
  if (const int others = threads_that_go_on(pid); others > 0) {
    return fail(
        ErrorId::Zombie,
        fmt::format("the main thread of process {} has ended, and {} of its "
                    "threads {} on: its memory cannot be read then",
                    pid, others, others == 1 ? "goes" : "go"),
        fmt::format("cat /proc/{}/task/*/stack", pid));
  }
  // It reads as 0 without permission, too (proc_pid_stat(5)).
  const auto stat = read_task_stat(pid, pid);
  const std::string how = stat && stat->exit_code != 0
                              ? fmt::format(" ({})", end_text(stat->exit_code))
                              : "";
  return fail(
      ErrorId::Zombie,
      fmt::format("process {} is a zombie{}: its parent {} has not reaped it",
                  pid, how, status.ppid),
      fmt::format("ps -fp {}", status.ppid));
}

// ---- state D

bool is_vfork(int pid, const TaskSyscall& call) {
  switch (call.number) {
    case SYS_vfork:
      return true;
    case SYS_clone:
      return (call.args[0] & CLONE_VFORK) != 0;
    case SYS_clone3: {
      // struct clone_args begins with its flags.
      const auto flags =
          LiveMemory(pid).read_value<std::uint64_t>({call.args[0]});
      return flags && (*flags & CLONE_VFORK) != 0;
    }
    default:
      return false;
  }
}

// The youngest child is the last.
std::string last_child(int pid) {
  const auto children =
      read_proc_file(pid, fmt::format("task/{}/children", pid));
  const std::string_view list = children ? trim(*children) : "";
  const std::size_t blank = list.rfind(' ');
  return std::string(blank == list.npos ? list : list.substr(blank + 1));
}

std::unexpected<Error> in_disk_sleep(int pid) {
  const auto call = read_task_syscall(pid, pid);
  if (call && is_vfork(pid, *call)) {
    const std::string child = last_child(pid);
    return fail(ErrorId::InVfork,
                fmt::format("process {} waits for its vfork child {} to run a "
                            "program or to exit",
                            pid, child),
                fmt::format("ps -fp {0}; cat /proc/{0}/wchan",
                            child.empty() ? "CHILD" : child));
  }
  if (call && (call->number == SYS_execve || call->number == SYS_execveat)) {
    return fail(
        ErrorId::InExec,
        fmt::format(
            "process {} is about to run another program, and is stuck in {}",
            pid, call->number == SYS_execve ? "execve" : "execveat"),
        fmt::format("cat /proc/{0}/wchan /proc/{0}/stack", pid));
  }
  return fail(ErrorId::DiskSleep,
              fmt::format("process {} is in uninterruptible sleep (state D) "
                          "and cannot be stopped",
                          pid),
              fmt::format("cat /proc/{0}/wchan /proc/{0}/stack", pid));
}

}  // namespace

Status check_state(int pid, const ProcStatus& status) {
  switch (status.state) {
    case 'Z':
    case 'X':
      return has_ended(pid, status);
    case 'T':
      return fail(ErrorId::Stopped,
                  fmt::format("process {} is stopped (SIGSTOP or Ctrl-Z)", pid),
                  fmt::format("kill -CONT {}", pid));
    case 'D':
      return in_disk_sleep(pid);
    default:
      break;
  }
  if (!status.has_memory) {
    const auto stat = read_task_stat(pid, pid);
    if (stat && (stat->flags & kKernelThreadFlag) != 0) {
      return fail(ErrorId::KernelThread,
                  fmt::format("{} is a kernel thread ({})", pid, status.name),
                  "hangdbg ps");
    }
  }
  return {};
}

// Where comparing is forbidden (kcmp(2) fails), it has its own.
Status check_own_memory(int pid, const ProcStatus& status) {
  if (status.ppid == 0 ||
      ::syscall(SYS_kcmp, status.ppid, pid, KCMP_VM, 0, 0) != 0) {
    return {};
  }
  return fail(ErrorId::InVfork,
              fmt::format("process {} runs in the memory of its parent {} "
                          "(vfork), until it runs a program or exits",
                          pid, status.ppid),
              fmt::format("hangdbg attach {}", status.ppid));
}

Status check_tracer(int pid, const ProcStatus& status) {
  if (status.tracer_pid == 0) {
    return {};
  }
  // The kernel names a thread; the process is the one to end.
  const auto tracer = read_status(status.tracer_pid);
  const int by = tracer ? tracer->tgid : status.tracer_pid;
  return fail(ErrorId::TracedAlready,
              fmt::format("process {} is already traced by {} ({})", pid, by,
                          first_line(fmt::format("/proc/{}/comm", by))),
              fmt::format("end that debugger first: ps -fp {}", by));
}

// A frozen task shows as S (v2) or D (v1), and a ptrace stop never comes.
Status check_frozen(int pid) {
  if (const auto frozen = find_frozen(pid)) {
    return fail(
        ErrorId::Frozen,
        fmt::format("process {} is in a frozen cgroup ({})", pid, frozen->path),
        frozen->command);
  }
  return {};
}

}  // namespace hangdbg
