// ElfImage: a loaded program or library, read from the target's memory.
//
// Its file may be gone, replaced, or in another mount namespace, so nothing
// here opens one: program headers, dynamic section, hash tables and symbols
// all come from where the loader mapped them (System V gABI, chapter 5; the
// GNU hash table as glibc's elf/dl-lookup.c reads it). Every size is bounded
// before it is used: the target's memory may say anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct Symbol {
  Address address;
  std::uint64_t size = 0;
};

struct AddressRange {
  Address start;
  Address end;

  bool contains(Address address) const {
    return start <= address && address < end;
  }
};

// Where a table of Elf64_Sym lies and the strings that it names, in memory or
// in a file.
struct SymbolTable {
  Address symbols;
  std::uint64_t count = 0;
  Address strings;
  std::uint64_t strings_size = 0;
};

class ElfImage {
 public:
  // `base` is where the file's first byte is mapped (Module::base).
  // Errors: Unreadable; Wrong32Bit for an ELF that is not 64-bit.
  static Result<ElfImage> read(const MemoryReader& memory, Address base);

  // A defined dynamic symbol by its exact name, of the default version where
  // there are several. `memory` is the reader that the image was read with.
  std::optional<Symbol> find(const MemoryReader& memory,
                             std::string_view name) const;

  // The dynamic symbol of the function that has this address in it. Reads the
  // whole table: for what a person is told, not for a stop.
  std::optional<std::string> function_at(const MemoryReader& memory,
                                         Address address) const;

  // The whole dynamic table; of nothing when its size cannot be told.
  SymbolTable symbols(const MemoryReader& memory) const;

  // Load address minus link address: add it to a symbol's or header's vaddr.
  std::uint64_t bias() const { return bias_; }

  // The executable PT_LOAD segments.
  const std::vector<AddressRange>& text() const { return text_; }

  // The writable PT_LOAD segments: initialised variables and others.
  const std::vector<AddressRange>& variables() const { return variables_; }

  // From the first PT_LOAD segment to the last.
  AddressRange whole() const { return whole_; }

  // The PT_NOTE segments.
  const std::vector<AddressRange>& notes() const { return notes_; }

  // PT_GNU_EH_FRAME; empty range when there is none.
  AddressRange eh_frame_hdr() const { return eh_frame_hdr_; }

 private:
  struct GnuHash {
    Address bloom;
    Address buckets;
    Address chains;
    std::uint32_t bucket_count = 0;
    std::uint32_t symbol_offset = 0;
    std::uint32_t bloom_words = 0;
    std::uint32_t bloom_shift = 0;
  };
  struct SysvHash {
    Address buckets;
    Address chains;
    std::uint32_t bucket_count = 0;
    std::uint32_t chain_count = 0;
  };

  Status read_program_headers(const MemoryReader& memory, Address base);
  Status read_dynamic(const MemoryReader& memory);
  std::optional<Symbol> find_by_gnu_hash(const MemoryReader& memory,
                                         std::string_view name) const;
  std::optional<Symbol> find_by_sysv_hash(const MemoryReader& memory,
                                          std::string_view name) const;
  std::uint32_t symbol_count(const MemoryReader& memory) const;
  struct Candidate {
    Symbol symbol;
    bool hidden = false;  // a version that is not the default one
  };
  std::optional<Candidate> symbol_if_named(const MemoryReader& memory,
                                           std::uint32_t index,
                                           std::string_view name) const;

  std::uint64_t bias_ = 0;
  std::vector<AddressRange> text_;
  std::vector<AddressRange> variables_;
  std::vector<AddressRange> notes_;
  AddressRange whole_;
  AddressRange dynamic_;
  AddressRange eh_frame_hdr_;
  Address symbols_;
  Address strings_;
  std::uint64_t strings_size_ = 0;
  Address versions_;  // DT_VERSYM, 0 when there is none
  std::optional<GnuHash> gnu_hash_;
  std::optional<SysvHash> sysv_hash_;
};

}  // namespace hangdbg
