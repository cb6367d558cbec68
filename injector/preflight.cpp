#include "injector/preflight.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/log.h"
#include "inspector/cached_memory.h"
#include "tracee/proc_file.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr std::uint32_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

constexpr auto kDiskPatience = std::chrono::milliseconds(500);
constexpr auto kDiskLook = std::chrono::milliseconds(5);

Error name_process(int pid, Error error);
Status check_state(int pid, const ProcStatus& status);
Status check_tracer(int pid, const ProcStatus& status);
Status check_frozen(int pid);
Status check_permission(int pid, const ProcStatus& status);
Status check_seccomp(int pid, const ProcStatus& status);
std::string first_line(const std::string& path);

}  // namespace

Result<std::unique_ptr<Target>> preflight(int pid) {
  TRY(check_reachable(pid));
  auto status = TRY(read_status(pid));
  TRY(check_permission(pid, status));
  TRY(check_seccomp(pid, status));

  LiveMemory memory(pid);
  auto maps = TRY(read_maps(pid));
  auto modules = find_modules(maps);
  // Symbol tables do not change: some 400 small reads become a few dozen pages.
  const CachedMemory cached(memory);
  auto python = find_python(
      cached, modules, [&](const Module& module, const ElfImage& image) {
        return FileSymbols::read(pid, cached, module, image);
      });
  if (!python) {
    return std::unexpected(name_process(pid, std::move(python).error()));
  }
  if (python->free_threaded) {
    const bool can_pause =
        python->find(cached, "_PyEval_StopTheWorld").has_value();
    return fail(
        ErrorId::UnsupportedPython,
        fmt::format("process {} runs a free-threaded Python {}, {}", pid,
                    python->version.text(),
                    can_pause ? "which cannot be entered yet"
                              : "which has no way to pause its threads while "
                                "their frames are read"),
        fmt::format("py-spy dump --pid {} may read its stacks", pid));
  }
  if (auto ready = check_ready(memory, *python); !ready) {
    return std::unexpected(name_process(pid, std::move(ready).error()));
  }
  auto danger = TRY(DangerousCode::find(cached, modules, *python));
  auto api = find_target_api(cached, modules, *python, danger);
  if (!api) {
    return std::unexpected(name_process(pid, std::move(api).error()));
  }
  return std::make_unique<Target>(
      Target{pid, std::move(status), memory, std::move(maps),
             std::move(modules), *std::move(python), std::move(danger), *api});
}

Status check_reachable(int pid) {
  auto status = TRY(read_status(pid));
  // Reading a file is D too, for a moment.
  for (const Deadline patience = Deadline::in(kDiskPatience);
       status.state == 'D' && !patience.expired();
       status = TRY(read_status(pid))) {
    std::this_thread::sleep_for(kDiskLook);
  }
  if (status.tgid != pid) {
    return fail(ErrorId::NoSuchProcess,
                fmt::format("{} is a thread of process {}", pid, status.tgid),
                fmt::format("name the process: hangdbg attach {} --thread {}",
                            status.tgid, pid));
  }
  TRY(check_state(pid, status));
  TRY(check_tracer(pid, status));
  return check_frozen(pid);
}

namespace {

// The inspector knows memory, not pids.
Error name_process(int pid, Error error) {
  error.message = fmt::format(
      "process {}{}: {}", pid,
      error.id == ErrorId::NotPython ? " is not Python" : "", error.message);
  if (const auto at = error.hint.find("--pid PID"); at != error.hint.npos) {
    error.hint.replace(at, 9, fmt::format("--pid {}", pid));
  }
  return error;
}

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
      return fail(ErrorId::DiskSleep,
                  fmt::format("process {} is in uninterruptible sleep (state "
                              "D): nothing can stop it there",
                              pid),
                  fmt::format("cat /proc/{}/wchan /proc/{}/stack", pid, pid));
    default:
      break;
  }
  if (!status.has_memory) {
    const auto stat = read_task_stat(pid, pid);
    if (stat && (stat->flags & kKernelThreadFlag) != 0) {
      return fail(ErrorId::KernelThread,
                  fmt::format("{} is a kernel thread ({})", pid, status.name));
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

// A frozen task shows as S, and a ptrace stop never comes.
Status check_frozen(int pid) {
  const auto groups = read_proc_file(pid, "cgroup");
  if (!groups) {
    return {};  // no cgroups here
  }
  std::size_t at = 0;
  while (at < groups->size()) {
    std::size_t end = groups->find('\n', at);
    end = end == std::string::npos ? groups->size() : end;
    const std::string line = groups->substr(at, end - at);
    at = end + 1;
    const std::size_t path_at = line.find(':', line.find(':') + 1) + 1;
    const std::string path = line.substr(path_at);
    bool frozen = false;
    std::string thaw;
    if (line.starts_with("0::")) {
      thaw = fmt::format("/sys/fs/cgroup{}/cgroup.freeze", path);
      std::ifstream events(fmt::format("/sys/fs/cgroup{}/cgroup.events", path));
      for (std::string event; std::getline(events, event);) {
        frozen = frozen || event == "frozen 1";
      }
      thaw = "echo 0 > " + thaw;
    } else if (line.find(":freezer:") != line.npos) {
      const std::string state =
          fmt::format("/sys/fs/cgroup/freezer{}/freezer.state", path);
      frozen = first_line(state) != "THAWED" && !first_line(state).empty();
      thaw = "echo THAWED > " + state;
    }
    if (frozen) {
      return fail(
          ErrorId::Frozen,
          fmt::format("process {} is in a frozen cgroup ({})", pid, path),
          thaw);
    }
  }
  return {};
}

// The right that ptrace needs is the one that /proc/PID/mem asks for
// (ptrace(2), PTRACE_MODE_ATTACH_FSCREDS).
Status check_permission(int pid, const ProcStatus& status) {
  const Fd mem(
      ::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC));
  if (mem) {
    return {};
  }
  const int saved = errno;
  if (saved == ENOENT || saved == ESRCH) {
    return fail(ErrorId::NoSuchProcess, fmt::format("no process {}", pid),
                "pgrep -a python lists the Python processes");
  }
  const unsigned uid = ::geteuid();
  if (uid != 0 && status.uids[0] != uid) {
    return fail(ErrorId::NotPermitted,
                fmt::format("process {} belongs to another user (uid {})", pid,
                            status.uids[0]),
                fmt::format("sudo hangdbg attach {}", pid));
  }
  const std::string yama = first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (!yama.empty() && yama != "0" && uid != 0) {
    return fail(ErrorId::Yama,
                fmt::format("this machine lets only an ancestor trace process "
                            "{} (kernel.yama.ptrace_scope is {})",
                            pid, yama),
                fmt::format("sudo hangdbg attach {}, or as root: sysctl "
                            "kernel.yama.ptrace_scope=0",
                            pid));
  }
  errno = saved;
  auto error = fail_errno(fmt::format("not permitted to trace process {}", pid),
                          ErrorId::NotPermitted);
  error.error().hint =
      uid == 0 ? "inside a container this needs the capability SYS_PTRACE "
                 "(docker run --cap-add SYS_PTRACE), or hangdbg outside of it"
               : fmt::format("sudo hangdbg attach {}", pid);
  return error;
}

// A filter may answer one of our calls by killing the target.
Status check_seccomp(int pid, const ProcStatus& status) {
  if (status.seccomp == 0) {
    return {};
  }
  return fail(
      ErrorId::SeccompUnknown,
      fmt::format("process {} has a seccomp filter, and it is not "
                  "known whether that would kill it for our calls",
                  pid),
      fmt::format("py-spy dump --pid {} reads its stacks from outside", pid));
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace
}  // namespace hangdbg
