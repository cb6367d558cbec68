#include "injector/process_state.h"

#include <fmt/core.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "tracee/memory.h"
#include "tracee/proc_file.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr std::uint32_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
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
                fmt::format("process {} waits for its vfork child {} to start "
                            "its program or end",
                            pid, child),
                fmt::format("ps -fp {0}; cat /proc/{0}/wchan",
                            child.empty() ? "CHILD" : child));
  }
  if (call && (call->number == SYS_execve || call->number == SYS_execveat)) {
    return fail(
        ErrorId::InExec,
        fmt::format("process {} is about to become another program "
                    "({}), and that does not get on",
                    pid, call->number == SYS_execve ? "execve" : "execveat"),
        fmt::format("cat /proc/{0}/wchan /proc/{0}/stack", pid));
  }
  return fail(ErrorId::DiskSleep,
              fmt::format("process {} is in uninterruptible sleep (state D): "
                          "nothing can stop it there",
                          pid),
              fmt::format("cat /proc/{0}/wchan /proc/{0}/stack", pid));
}

// ---- the freezer

// A line of /proc/PID/cgroup (cgroups(7)): "4:freezer:/jobs/7", "0::/jobs/7".
struct Group {
  bool unified;
  std::string path;
};

std::optional<Group> parse_group(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  if (first == line.npos || second == line.npos) {
    return {};
  }
  const std::string_view controllers =
      line.substr(first + 1, second - first - 1);
  for (const std::string_view controller : split(controllers, ',')) {
    if (controller == "freezer") {
      return Group{false, std::string(line.substr(second + 1))};
    }
  }
  if (controllers.empty()) {
    return Group{true, std::string(line.substr(second + 1))};
  }
  return {};
}

// Where the hierarchy of that kind is mounted (proc_pid_mountinfo(5)).
std::optional<std::string> hierarchy(bool unified) {
  const auto mounts = read_proc_file(::getpid(), "mountinfo");
  if (!mounts) {
    return {};
  }
  for (const std::string_view line : split(*mounts, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) {
      continue;
    }
    const auto fields = split(line.substr(0, dash), ' ');
    const auto kind = split(line.substr(dash + 3), ' ');
    if (fields.size() < 5 || kind.size() < 3) {
      continue;
    }
    const bool freezer =
        kind[0] == "cgroup" && kind[2].find("freezer") != kind[2].npos;
    if (unified ? kind[0] == "cgroup2" : freezer) {
      return std::string(fields[4]);
    }
  }
  return {};
}

bool is_frozen(const std::string& folder, bool unified) {
  if (!unified) {
    const std::string state = first_line(folder + "/freezer.state");
    return state == "FROZEN" || state == "FREEZING";
  }
  std::ifstream events(folder + "/cgroup.events");
  for (std::string event; std::getline(events, event);) {
    if (event == "frozen 1") {
      return true;
    }
  }
  return false;
}

// The file that says so for the group itself or for one above it.
std::string freezing_file(const std::string& root,
                          std::string path,
                          bool unified) {
  const char* own = unified ? "/cgroup.freeze" : "/freezer.self_freezing";
  const char* file = unified ? "/cgroup.freeze" : "/freezer.state";
  std::string at = path;
  while (!at.empty() && first_line(root + at + own) != "1") {
    at.resize(at.rfind('/') == at.npos ? 0 : at.rfind('/'));
  }
  return root + (at.empty() ? path : at) + file;
}

}  // namespace

Status check_state(int pid, const ProcStatus& status) {
  switch (status.state) {
    case 'Z':
    case 'X':
      return fail(ErrorId::Zombie,
                  fmt::format("process {} has ended; only its parent {} has "
                              "not yet asked how",
                              pid, status.ppid),
                  fmt::format("ps -fp {}", status.ppid));
    case 'T':
      return fail(ErrorId::Stopped,
                  fmt::format("process {} is stopped (SIGSTOP or Ctrl-Z)", pid),
                  fmt::format("kill -CONT {} lets it go on", pid));
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
                  "hangdbg ps lists the Python processes");
    }
  }
  return {};
}

Status check_tracer(int pid, const ProcStatus& status) {
  if (status.tracer_pid == 0) {
    return {};
  }
  const std::string tracer =
      first_line(fmt::format("/proc/{}/comm", status.tracer_pid));
  return fail(
      ErrorId::TracedAlready,
      fmt::format("process {} is already traced by {} ({})", pid,
                  status.tracer_pid, tracer),
      fmt::format("end that debugger first: ps -fp {}", status.tracer_pid));
}

// A frozen task shows as S (v2) or D (v1), and a ptrace stop never comes.
Status check_frozen(int pid) {
  const auto groups = read_proc_file(pid, "cgroup");
  if (!groups) {
    return {};  // no cgroups here
  }
  for (const std::string_view line : split(*groups, '\n')) {
    const auto group = parse_group(line);
    const auto root = group ? hierarchy(group->unified) : std::nullopt;
    if (!root || !is_frozen(*root + group->path, group->unified)) {
      continue;
    }
    return fail(
        ErrorId::Frozen,
        fmt::format("process {} is in a frozen cgroup ({})", pid, group->path),
        fmt::format("echo {} > {}", group->unified ? "0" : "THAWED",
                    freezing_file(*root, group->path, group->unified)));
  }
  return {};
}

}  // namespace hangdbg
