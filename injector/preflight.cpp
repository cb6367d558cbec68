#include "injector/preflight.h"

#include <elf.h>
#include <fmt/core.h>

#include <array>
#include <fstream>
#include <thread>

#include "base/deadline.h"
#include "injector/permission.h"
#include "injector/process_state.h"
#include "inspector/cached_memory.h"

namespace hangdbg {
namespace {

constexpr auto kDiskPatience = std::chrono::milliseconds(500);
constexpr auto kDiskLook = std::chrono::milliseconds(5);

Error name_process(int pid, Error error);
Status check_64_bit(int pid);

}  // namespace

Result<std::unique_ptr<Target>> preflight(int pid) {
  TRY(check_reachable(pid));
  auto status = TRY(read_status(pid));
  TRY(check_permission(pid, status));
  TRY(check_64_bit(pid));

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
  if (python->free_threaded && !python->find(cached, "_PyEval_StopTheWorld")) {
    return fail(
        ErrorId::UnsupportedPython,
        fmt::format("process {} runs a free-threaded Python {}, which has no "
                    "way to pause its threads while their frames are read",
                    pid, python->version.text()),
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
  const Libc libc = libc_of(danger, modules);
  TRY(calls_known_unread(pid, pid, libc));
  return std::make_unique<Target>(Target{
      pid, std::move(status), memory, std::move(maps), std::move(modules),
      *std::move(python), std::move(danger), *api, libc});
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
  if (status.tgid != pid) {
    return fail(ErrorId::NoSuchProcess,
                fmt::format("{} is a thread of process {}", pid, status.tgid),
                fmt::format("name the process: hangdbg attach {} --thread {}",
                            status.tgid, pid));
  }
  TRY(check_state(pid, status));
  return check_tracer(pid, status);
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

// The fifth byte of an ELF file is its class (elf(5)).
Status check_64_bit(int pid) {
  std::ifstream file(fmt::format("/proc/{}/exe", pid), std::ios::binary);
  std::array<char, EI_CLASS + 1> start{};
  if (file.read(start.data(), start.size()) && start[EI_CLASS] == ELFCLASS32) {
    return fail(ErrorId::Wrong32Bit,
                fmt::format("process {} is a 32-bit program", pid),
                fmt::format("gdb -p {} can look at it", pid));
  }
  return {};
}

}  // namespace
}  // namespace hangdbg
