// FileSymbols: all symbols of a module, as its file has them, for those that
// the loader was never told.
//
// A program may have an interpreter linked in and export nothing of it. Then
// only the file's own table (.symtab) knows where it is, or a debug file's if
// it was stripped. Files are renamed, replaced and deleted while programs run,
// so only one that holds what is in memory counts (docs/decisions/0014).
#pragma once

#include <elf.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {

class FileSymbols {
 public:
  // From the module's file, the compressed symbols in it (.gnu_debugdata), or
  // its debug file under /usr/lib/debug, the target's or ours.
  // Errors: Unreadable.
  static Result<FileSymbols> read(const TargetFiles& files,
                                  const MemoryReader& memory,
                                  const Module& module,
                                  const ElfImage& image);

  // A defined symbol by its exact name; a global one before a local one.
  std::optional<Symbol> find(std::string_view name) const;

  // The function that this address lies in.
  std::optional<std::string> function_at(Address address) const;

  // The file that had them: "/usr/bin/app", "/usr/lib/debug/.build-id/ab/c…".
  const std::string& origin() const { return origin_; }

 private:
  FileSymbols(std::string origin,
              std::uint64_t bias,
              std::vector<Elf64_Sym> symbols,
              std::vector<std::byte> strings)
      : origin_(std::move(origin)),
        bias_(bias),
        symbols_(std::move(symbols)),
        strings_(std::move(strings)) {}
  bool is_named(const Elf64_Sym& symbol, std::string_view name) const;

  std::string origin_;
  std::uint64_t bias_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<std::byte> strings_;
};

}  // namespace hangdbg
