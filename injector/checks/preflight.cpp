#include "injector/checks/preflight.h"

#include <fmt/core.h>

#include <thread>

#include "base/deadline.h"
#include "injector/checks/emulation.h"
#include "injector/checks/real_time.h"
#include "injector/checks/room.h"
#include "tracee/access/permission.h"
#include "tracee/access/process_state.h"
#include "tracee/memory/cached_memory.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr auto kDiskPatience = std::chrono::milliseconds(500);
constexpr auto kDiskLook = std::chrono::milliseconds(5);

Status check_is_process(int pid, const ProcStatus& status);
Status check_any_filter(int pid, CallMakers makers);

}  // namespace

Result<std::unique_ptr<AttachTarget>> preflight(int pid) {
  TRY(check_reachable(pid));
  auto status = TRY(read_status(pid));
  TRY(check_permission(pid, status));
  TRY(check_own_memory(pid, status));
  const LiveMemory memory(pid);
  const CachedMemory cached(memory);
  auto process = TRY(open_process(pid, &cached));
  const PythonRuntime& python = process.python;
  if (!python.version.at_least(7)) {
    return fail(
        ErrorId::UnsupportedPython,
        fmt::format(
            "process {} runs Python {}: only 3.7 to 3.15 can be attached to",
            pid, python.version.text()),
        fmt::format("hangdbg dump {0} and hangdbg peek {0} can read it", pid));
  }
  if (python.unknown) {
    return fail(
        ErrorId::UnsupportedPython,
        fmt::format("process {} runs Python {}, which is not known to this "
                    "hangdbg: it can be read, but not entered",
                    pid, python.version.text()),
        fmt::format("hangdbg dump {0} and hangdbg peek {0} can read it", pid));
  }
  if (python.scanned) {
    return fail(
        ErrorId::NoSymbols,
        fmt::format("process {}: python {} is linked into {}, which exports "
                    "none of it and is stripped",
                    pid, python.version.text(),
                    process.modules[python.module].path),
        fmt::format("hangdbg dump {0} and hangdbg peek {0} can read it all the "
                    "same; to attach, install its debug symbols (under "
                    "/usr/lib/debug)",
                    pid));
  }
  if (python.free_threaded && !python.find(cached, "_PyEval_StopTheWorld")) {
    return fail(
        ErrorId::UnsupportedPython,
        fmt::format("process {} runs a free-threaded Python {}, which has no "
                    "way to pause its threads while their frames are read",
                    pid, python.version.text()),
        fmt::format("hangdbg dump {} reads its stacks", pid));
  }
  if (auto ready = check_ready(memory, python); !ready) {
    return std::unexpected(name_process(pid, std::move(ready).error()));
  }
  if (auto room = check_room(pid, status, process.maps); !room) {
    return std::unexpected(std::move(room).error());
  }
  auto taken_cpus = TRY(check_cpus(pid));
  auto danger = DangerousCode::find(cached, process.modules, python);
  if (!danger) {
    return std::unexpected(name_process(pid, std::move(danger).error()));
  }
  TRY(check_not_emulated(pid, process.modules, *danger));
  auto api = find_target_api(cached, process.modules, python, *danger);
  if (!api) {
    return std::unexpected(name_process(pid, std::move(api).error()));
  }
  const CallMakers makers{libc_of(*danger, process.modules),
                          python.free_threaded};
  TRY(check_any_filter(pid, makers));
  return std::make_unique<AttachTarget>(
      AttachTarget{std::move(process), std::move(status), *std::move(danger),
                   *api, makers, std::move(taken_cpus)});
}

Status check_readable(int pid) {
  const auto status = TRY(read_status(pid));
  TRY(check_is_process(pid, status));
  // Memory can be read of what does not run.
  if (status.state != 'T' && status.state != 'D') {
    TRY(check_state(pid, status));
  }
  return check_permission(pid, status);
}

Status check_reachable(int pid) {
  // First, since a frozen thread may be shown in state D.
  TRY(check_frozen(pid));
  auto status = TRY(read_status(pid));
  // Reading a file is D too, for a moment.
  for (const Deadline patience = Deadline::in(kDiskPatience);
       status.state == 'D' && !patience.expired();
       status = TRY(read_status(pid))) {
    std::this_thread::sleep_for(kDiskLook);
  }
  TRY(check_is_process(pid, status));
  TRY(check_state(pid, status));
  return check_tracer(pid, status);
}

namespace {

Status check_is_process(int pid, const ProcStatus& status) {
  if (status.tgid == pid) {
    return {};
  }
  return fail(ErrorId::NoSuchProcess,
              fmt::format("{} is a thread of process {}", pid, status.tgid),
              fmt::format("name the process: hangdbg attach {} --thread {}",
                          status.tgid, pid));
}

// One thread whose filter is known, or may be read, will do.
Status check_any_filter(int pid, CallMakers makers) {
  const auto of_main = calls_known_unread(pid, pid, makers);
  if (of_main) {
    return {};
  }
  for (const int tid : TRY(list_tasks(pid))) {
    if (tid != pid && calls_known_unread(pid, tid, makers)) {
      return {};
    }
  }
  return std::unexpected(of_main.error());
}

}  // namespace
}  // namespace hangdbg
