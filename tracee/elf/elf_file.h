// ElfFile: the sections of an ELF file, which the loader maps nothing of.
//
// The bytes come through a MemoryReader whose addresses are offsets into the
// file: a file on disk, or one that was unpacked from another. Every size is
// bounded before it is used, as in ElfImage.
#pragma once

#include <elf.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/elf/section_reader.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

class ElfFile {
 public:
  // `bytes` must outlive this. Errors: Unreadable.
  static Result<ElfFile> read(const MemoryReader& bytes);

  // A section's content. Errors: Unreadable, also when it is not there or has
  // no content here.
  Result<std::vector<std::byte>> section(std::string_view name) const;

  // The same, to be read piece by piece.
  Result<SectionReader> open_section(std::string_view name) const;

  // Empty when there is none.
  std::vector<std::byte> build_id() const;

  // ".symtab" or ".dynsym" with the strings that it names; of nothing when it
  // is not there or has no content here.
  SymbolTable symbols(std::string_view name) const;

 private:
  const Elf64_Shdr* find(std::string_view name) const;
  explicit ElfFile(const MemoryReader& bytes) : bytes_(&bytes) {}
  Result<std::vector<std::byte>> content(const Elf64_Shdr& section) const;

  const MemoryReader* bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

// The build id in the content of a note section or segment; empty when there
// is none.
std::vector<std::byte> build_id_in(std::span<const std::byte> notes);

// A file's bytes as memory that begins at 0.
class FileBytes final : public MemoryReader {
 public:
  explicit FileBytes(Fd file) : file_(std::move(file)) {}
  Status read(Address from, std::span<std::byte> out) const override;

  // Whether it is the file of that mapping, under whatever name.
  bool is_of(const Mapping& mapping) const;

 private:
  Fd file_;
};

// A regular file or none: the open never blocks, as that of a pipe would.
Result<FileBytes> open_file(const std::string& path);

}  // namespace hangdbg
