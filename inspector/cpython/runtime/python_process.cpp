#include "inspector/cpython/runtime/python_process.h"

#include <elf.h>
#include <fmt/core.h>

#include <array>
#include <fstream>
#include <string_view>

#include "tracee/memory/cached_memory.h"
#include "tracee/proc/proc_status.h"
#include "tracee/program/program_image.h"

namespace hangdbg {
namespace {

Status check_64_bit(int pid);

}  // namespace

Result<PythonProcess> open_process(int pid, const MemoryReader* pages) {
  TRY(check_64_bit(pid));
  const LiveMemory memory(pid);
  auto maps = TRY(read_maps(pid));
  auto modules = find_modules(maps);
  // Symbol tables do not change: some 400 small reads become a few dozen pages.
  const CachedMemory own(memory);
  const MemoryReader& cached = pages != nullptr ? *pages : own;
  auto python = find_python(
      cached, modules, [&](const Module& module, const ElfImage& image) {
        return FileSymbols::read(pid, cached, module, image);
      });
  if (!python) {
    return std::unexpected(name_process(pid, std::move(python).error()));
  }
  return PythonProcess{pid, memory, std::move(maps), std::move(modules),
                       *std::move(python)};
}

Result<PythonProcess> open_python(int pid) {
  const LiveMemory memory(pid);
  const CachedMemory cached(memory);
  const auto program = read_program_image(pid, cached);
  auto python = program ? find_python(cached, *program) : std::nullopt;
  return python && *python
             ? PythonProcess{pid, memory, {}, {}, **std::move(python)}
             : open_process(pid, &cached);
}

Error name_process(int pid, Error error) {
  error.message = fmt::format(
      "process {}{}: {}", pid,
      error.id == ErrorId::NotPython ? " is not Python" : "", error.message);
  if (const auto at = error.hint.find(" PID"); at != error.hint.npos) {
    error.hint.replace(at, 4, fmt::format(" {}", pid));
  }
  return error;
}

Error not_read_in_time(int pid) {
  const auto status = read_status(pid);
  return {
      .id = ErrorId::TimedOut,
      .message = fmt::format("process {} could not be read in time{}", pid,
                             status && status->state == 'D'
                                 ? ": it is in uninterruptible sleep (state D)"
                                 : ""),
      .hint = fmt::format("cat /proc/{}/stack", pid)};
}

namespace {

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
