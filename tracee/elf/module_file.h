// The files behind a module: its own, the one that its debug information was
// split off into, and the symbols that are compressed in its own.
//
// Files are renamed, replaced and deleted while programs run, so only one that
// holds what is in memory counts (docs/decisions/0014).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracee/elf/elf_file.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

struct ModuleFile {
  std::string path;  // of a debug file, in the root that it was found in
  FileBytes bytes;
};

// Bytes of ours as memory that begins at 0.
class OwnBytes final : public MemoryReader {
 public:
  explicit OwnBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  Status read(Address from, std::span<std::byte> out) const override;

 private:
  std::vector<std::byte> bytes_;
};

// The one among TargetFiles::ways_to that holds what is in memory.
// Errors: Unreadable.
Result<ModuleFile> open_module_file(const TargetFiles& files,
                                    const MemoryReader& memory,
                                    const Module& module,
                                    const ElfImage& image);

// By build id or, if the module's own file is there, by its .gnu_debuglink:
// under /usr/lib/debug and beside it.
// Errors: Unreadable.
Result<ModuleFile> open_debug_file(const TargetFiles& files,
                                   const MemoryReader& memory,
                                   const Module& module,
                                   const ElfImage& image,
                                   const MemoryReader* own);

// What Fedora calls MiniDebuginfo: an ELF file with symbols alone.
// Errors: Unreadable.
Result<OwnBytes> unpack_debug_data(const MemoryReader& own);

}  // namespace hangdbg
