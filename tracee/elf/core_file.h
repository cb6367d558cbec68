// CoreFile: a process that is no more, as the kernel or gdb's gcore has written
// it down (core(5), elf(5)).
//
// Its memory is what the file holds. What the kernel leaves out (code,
// constants: whatever is a file's unchanged content) comes from those files, if
// they are the ones that were mapped (module_file.h says how that is known).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracee/elf/core_notes.h"
#include "tracee/elf/elf_file.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

// Memory that is made of pieces of files. Where two overlap, the first counts.
class PiecedMemory final : public MemoryReader {
 public:
  void add(Address start,
           std::uint64_t size,
           std::shared_ptr<const MemoryReader> bytes,
           std::uint64_t offset);
  Status read(Address from, std::span<std::byte> out) const override;

 private:
  struct Extent {
    Address end;
    std::shared_ptr<const MemoryReader> bytes;
    std::uint64_t offset;
  };
  std::map<Address, Extent> extents_;
};

struct CoreFile {
  std::string path;
  CoreNotes notes;
  TargetFiles files;
  PiecedMemory memory;
  std::vector<Mapping> maps;
  std::vector<Module> modules;
  std::uint64_t missing = 0;  // bytes that the file should have and has not
  std::vector<std::string> unknown;  // modules whose files are not here

  struct Options {
    std::string sysroot;
    std::string program;  // takes the executable's place; may be empty
  };
  // May be gzip or zstd. Errors: Usage, when there is no such file or it is no
  // core file; Wrong32Bit; Unreadable.
  static Result<CoreFile> open(const std::string& path, const Options& options);
};

}  // namespace hangdbg
