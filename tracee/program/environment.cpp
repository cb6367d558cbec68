#include "tracee/program/environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/cached_memory.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/program/environment_entries.h"
#include "tracee/program/program_image.h"

namespace hangdbg {
namespace {

// As much as the kernel starts a program with (execve(2)), and then some.
constexpr std::size_t kMostEntries = 16384;
constexpr std::size_t kLongestEntry = 128 * 1024;
constexpr std::size_t kMostBytes = 4 * 1024 * 1024;

Result<std::vector<std::string>> live_entries(int pid);
Result<bool> has_begun(int pid,
                       const MemoryReader& memory,
                       const MemoryReader& cached);
Result<Address> find_variable(int pid,
                              const MemoryReader& memory,
                              std::string_view name);
std::vector<Module> likely_first(int pid, std::vector<Module> modules);
Result<std::vector<std::string>> entries_at(const MemoryReader& memory,
                                            Address list);

}  // namespace

Result<std::vector<std::string>> read_environment(int pid) {
  if (auto entries = live_entries(pid)) {
    return *std::move(entries);
  }
  const std::string text = TRY(read_proc_file(pid, "environ"));
  std::vector<std::string> entries;
  for (const std::string_view entry : split(text, '\0')) {
    entries.emplace_back(entry);
  }
  return entries;
}

Result<Environment> Environment::read(int pid) {
  return Environment(TRY(read_environment(pid)));
}

Environment::Environment(std::vector<std::string> entries)
    : entries_(std::move(entries)) {
  std::erase_if(entries_, [](const auto& entry) {
    return entry.find('=') == 0 || entry.find('=') == entry.npos;
  });
}

std::optional<std::string_view> Environment::find(std::string_view name) const {
  for (const std::string_view entry : entries_) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

namespace {

Result<std::vector<std::string>> live_entries(int pid) {
  // Where its memory does not answer, a process_vm_readv(2) of it cannot be
  // killed, not by SIGKILL either; this read can (mmap_read_lock_killable).
  TRY(read_proc_file(pid, "cmdline"));
  const LiveMemory memory(pid);
  const CachedMemory cached(memory);
  const Address variable = TRY(find_variable(pid, cached, "environ"));
  const Address list = TRY(memory.read_address(variable));
  if (!list && !TRY(has_begun(pid, memory, cached))) {
    return fail(ErrorId::Unreadable, "environ is not set yet");
  }
  return list ? entries_at(CachedMemory(memory), list)
              : std::vector<std::string>();  // clearenv(3)
}

// Whether libc has: its copy of the program's name is "" before. What is still
// being loaded, perhaps from a file server that hangs, has no variables yet.
Result<bool> has_begun(int pid,
                       const MemoryReader& memory,
                       const MemoryReader& cached) {
  const Address variable =
      TRY(find_variable(pid, cached, "program_invocation_name"));
  return !TRY(memory.read_string(TRY(memory.read_address(variable)), 1))
              .empty();
}

// Of the first module that defines it, as the loader resolves it: most programs
// have a copy of libc's environ.
Result<Address> find_variable(int pid,
                              const MemoryReader& memory,
                              std::string_view name) {
  const auto program = read_program_image(pid, memory);
  if (const auto own = program ? program->find(memory, name) : std::nullopt) {
    return own->address;
  }
  for (const Module& module :
       likely_first(pid, find_modules(TRY(read_maps(pid))))) {
    const auto image = ElfImage::read(memory, module.base);
    const auto symbol = image ? image->find(memory, name) : std::nullopt;
    if (symbol) {
      return symbol->address;
    }
  }
  return fail(ErrorId::Unreadable, fmt::format("no {}", name));
}

// The program itself, its libc, the others.
std::vector<Module> likely_first(int pid, std::vector<Module> modules) {
  const auto program = read_proc_link(pid, "exe").value_or("");
  std::ranges::stable_sort(modules, {}, [&](const Module& module) {
    const std::string& path = module.path;
    return path == program ? 0
           : path.find("/libc.so") != path.npos ||
                   path.find("/libc-2.") != path.npos ||
                   path.find("/ld-musl") != path.npos
               ? 1
               : 2;
  });
  return modules;
}

// It may be changed while it is read: an entry that cannot be is left out.
Result<std::vector<std::string>> entries_at(const MemoryReader& memory,
                                            Address list) {
  std::vector<std::string> entries;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kMostEntries && bytes < kMostBytes; ++i) {
    const Address entry = TRY(memory.read_address(list + i * sizeof(Address)));
    if (entry.value == 0) {
      return entries;
    }
    if (auto text = memory.read_string(entry, kLongestEntry)) {
      bytes += text->size();
      entries.push_back(*std::move(text));
    }
  }
  return fail(ErrorId::Unreadable, "environ has no end");
}

}  // namespace
}  // namespace hangdbg
