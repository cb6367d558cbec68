// A section of an ELF file from its first byte on, unpacked only as far as
// needed: debug information is megabytes, and what one looks for in it may come
// early.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

class SectionReader {
 public:
  // `file` must outlive this. Errors: Unreadable.
  static Result<SectionReader> open(const MemoryReader& file,
                                    const Elf64_Shdr& section);

  // Of one that is not compressed.
  SectionReader(const MemoryReader& file, Address from, std::uint64_t size);

  SectionReader(SectionReader&&) noexcept;
  ~SectionReader();

  // How many bytes are still to be read.
  std::uint64_t left() const { return left_; }

  // Fills `out` with the next bytes. Errors: Unreadable, when there are not so
  // many or what was compressed is damaged.
  Status read(std::span<std::byte> out);

 private:
  class Unpacker;
  class Zlib;
  class Zstd;

  Status fill();
  Result<std::span<std::byte>> next_piece(std::span<std::byte> buffer);

  const MemoryReader* file_;
  Address next_;
  std::uint64_t left_in_file_;
  std::uint64_t left_;
  std::unique_ptr<Unpacker> unpacker_;  // none: it is not compressed
  std::unique_ptr<std::byte[]> packed_;
  std::span<const std::byte> packed_left_;
  std::unique_ptr<std::byte[]> plain_;
  std::span<const std::byte> plain_left_;
};

}  // namespace hangdbg
