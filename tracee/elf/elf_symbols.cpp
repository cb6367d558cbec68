#include "tracee/elf/elf_symbols.h"

#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hangdbg {
namespace {

// More than any real file has; a target's memory may claim anything.
constexpr std::size_t kMaxProgramHeaders = 64;
constexpr std::size_t kMaxDynamicEntries = 512;
constexpr std::uint32_t kMaxBuckets = 1U << 24;
constexpr int kMaxChainSteps = 4096;
constexpr std::uint32_t kMaxSymbols = 1U << 20;
constexpr std::size_t kMaxName = 4096;

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const unsigned char c : name) {
    hash = hash * 33 + c;
  }
  return hash;
}

std::uint32_t sysv_hash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const unsigned char c : name) {
    hash = (hash << 4) + c;
    const std::uint32_t high = hash & 0xf0000000U;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

}  // namespace

Result<ElfImage> ElfImage::read(const MemoryReader& memory, Address base) {
  ElfImage image;
  TRY(image.read_program_headers(memory, base));
  TRY(image.read_dynamic(memory));
  return image;
}

std::optional<Symbol> ElfImage::find(const MemoryReader& memory,
                                     std::string_view name) const {
  return gnu_hash_ ? find_by_gnu_hash(memory, name)
                   : find_by_sysv_hash(memory, name);
}

std::optional<std::string> ElfImage::function_at(const MemoryReader& memory,
                                                 Address address) const {
  std::vector<Elf64_Sym> symbols(symbol_count(memory));
  if (symbols.empty() ||
      !memory.read(symbols_, std::as_writable_bytes(std::span(symbols)))) {
    return {};
  }
  const auto found = std::ranges::find_if(symbols, [&](const Elf64_Sym& s) {
    const Address start{bias_ + s.st_value};
    return ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF &&
           AddressRange{start, start + s.st_size}.contains(address);
  });
  if (found == symbols.end() || found->st_name >= strings_size_) {
    return {};
  }
  auto name = memory.read_string(strings_ + found->st_name, kMaxName);
  return name ? std::optional(*std::move(name)) : std::nullopt;
}

SymbolTable ElfImage::symbols(const MemoryReader& memory) const {
  return {symbols_, symbol_count(memory), strings_, strings_size_};
}

Status ElfImage::read_program_headers(const MemoryReader& memory,
                                      Address base) {
  const auto header = TRY(memory.read_value<Elf64_Ehdr>(base));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return fail(ErrorId::Unreadable,
                fmt::format("no ELF header at {:#x}", base.value));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    return fail(ErrorId::Wrong32Bit, "the program is not 64-bit");
  }
  if (header.e_phnum > kMaxProgramHeaders ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(ErrorId::Unreadable, "implausible ELF program headers");
  }
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  TRY(memory.read(base + header.e_phoff,
                  std::as_writable_bytes(std::span(headers))));

  const auto first_load =
      std::ranges::find(headers, std::uint32_t{PT_LOAD}, &Elf64_Phdr::p_type);
  if (first_load == headers.end()) {
    return fail(ErrorId::Unreadable, "an ELF image without segments");
  }
  bias_ = base.value - (first_load->p_vaddr - first_load->p_offset);

  for (const Elf64_Phdr& segment : headers) {
    const Address start{bias_ + segment.p_vaddr};
    const AddressRange range{start, start + segment.p_memsz};
    switch (segment.p_type) {
      case PT_LOAD:
        if ((segment.p_flags & PF_X) != 0) {
          text_.push_back(range);
        }
        if ((segment.p_flags & PF_W) != 0) {
          variables_.push_back(range);
        }
        whole_.start = whole_.start ? std::min(whole_.start, start) : start;
        whole_.end = std::max(whole_.end, range.end);
        break;
      case PT_DYNAMIC:
        dynamic_ = range;
        break;
      case PT_NOTE:
        notes_.push_back(range);
        break;
      case PT_GNU_EH_FRAME:
        eh_frame_hdr_ = range;
        break;
      default:
        break;
    }
  }
  return {};
}

Status ElfImage::read_dynamic(const MemoryReader& memory) {
  const std::uint64_t room =
      (dynamic_.end.value - dynamic_.start.value) / sizeof(Elf64_Dyn);
  std::vector<Elf64_Dyn> entries(
      std::min<std::uint64_t>(room, kMaxDynamicEntries));
  if (!entries.empty()) {
    TRY(memory.read(dynamic_.start,
                    std::as_writable_bytes(std::span(entries))));
  }

  // glibc's loader relocates the addresses in place, musl's and the kernel's
  // vdso leave them as they were linked.
  const auto located = [&](std::uint64_t value) {
    return whole_.contains(Address{value}) ? Address{value}
                                           : Address{bias_ + value};
  };
  Address gnu;
  Address sysv;
  for (const Elf64_Dyn& entry : entries) {
    switch (entry.d_tag) {
      case DT_SYMTAB:
        symbols_ = located(entry.d_un.d_ptr);
        break;
      case DT_STRTAB:
        strings_ = located(entry.d_un.d_ptr);
        break;
      case DT_STRSZ:
        strings_size_ = entry.d_un.d_val;
        break;
      case DT_VERSYM:
        versions_ = located(entry.d_un.d_ptr);
        break;
      case DT_GNU_HASH:
        gnu = located(entry.d_un.d_ptr);
        break;
      case DT_HASH:
        sysv = located(entry.d_un.d_ptr);
        break;
      default:
        break;
    }
    if (entry.d_tag == DT_NULL) {
      break;
    }
  }

  if (gnu) {
    const auto head =
        TRY((memory.read_value<std::array<std::uint32_t, 4>>(gnu)));
    GnuHash table;
    table.bucket_count = head[0];
    table.symbol_offset = head[1];
    table.bloom_words = head[2];
    table.bloom_shift = head[3];
    table.bloom = gnu + sizeof head;
    table.buckets = table.bloom + std::uint64_t{table.bloom_words} * 8;
    table.chains = table.buckets + std::uint64_t{table.bucket_count} * 4;
    if (table.bucket_count != 0 && table.bucket_count <= kMaxBuckets &&
        table.bloom_words != 0 && table.bloom_words <= kMaxBuckets) {
      gnu_hash_ = table;
    }
  }
  if (sysv) {
    const auto head =
        TRY((memory.read_value<std::array<std::uint32_t, 2>>(sysv)));
    if (head[0] != 0 && head[0] <= kMaxBuckets) {
      SysvHash table;
      table.bucket_count = head[0];
      table.chain_count = head[1];
      table.buckets = sysv + sizeof head;
      table.chains = table.buckets + std::uint64_t{table.bucket_count} * 4;
      sysv_hash_ = table;
    }
  }
  return {};
}

std::optional<Symbol> ElfImage::find_by_gnu_hash(const MemoryReader& memory,
                                                 std::string_view name) const {
  const GnuHash& table = *gnu_hash_;
  const std::uint32_t hash = gnu_hash(name);

  // Most modules do not have the name at all, and the bloom filter says so in
  // one read.
  const auto word = memory.read_value<std::uint64_t>(
      table.bloom + std::uint64_t{(hash / 64) % table.bloom_words} * 8);
  if (!word) {
    return {};
  }
  const std::uint64_t both =
      (std::uint64_t{1} << (hash % 64)) |
      (std::uint64_t{1} << ((hash >> (table.bloom_shift % 32)) % 64));
  if ((*word & both) != both) {
    return {};
  }

  const auto first = memory.read_value<std::uint32_t>(
      table.buckets + std::uint64_t{hash % table.bucket_count} * 4);
  if (!first || *first < table.symbol_offset) {
    return {};
  }
  std::optional<Symbol> old_version;
  std::uint32_t index = *first;
  for (int step = 0; step < kMaxChainSteps; ++step, ++index) {
    const auto chained = memory.read_value<std::uint32_t>(
        table.chains + std::uint64_t{index - table.symbol_offset} * 4);
    if (!chained) {
      return old_version;
    }
    if ((*chained | 1U) == (hash | 1U)) {
      if (const auto found = symbol_if_named(memory, index, name)) {
        if (!found->hidden) {
          return found->symbol;
        }
        old_version = found->symbol;
      }
    }
    if ((*chained & 1U) != 0) {
      break;
    }
  }
  return old_version;
}

std::optional<Symbol> ElfImage::find_by_sysv_hash(const MemoryReader& memory,
                                                  std::string_view name) const {
  if (!sysv_hash_) {
    return {};
  }
  const SysvHash& table = *sysv_hash_;
  std::optional<Symbol> old_version;
  Address link =
      table.buckets + std::uint64_t{sysv_hash(name) % table.bucket_count} * 4;
  for (int step = 0; step < kMaxChainSteps; ++step) {
    const auto index = memory.read_value<std::uint32_t>(link);
    if (!index || *index == 0 || *index >= table.chain_count) {
      break;
    }
    if (const auto found = symbol_if_named(memory, *index, name)) {
      if (!found->hidden) {
        return found->symbol;
      }
      old_version = found->symbol;
    }
    link = table.chains + std::uint64_t{*index} * 4;
  }
  return old_version;
}

// The table does not say how long it is: the old hash has a link for each
// symbol, in the new one the last chain that a bucket begins ends it.
std::uint32_t ElfImage::symbol_count(const MemoryReader& memory) const {
  if (sysv_hash_) {
    return std::min(sysv_hash_->chain_count, kMaxSymbols);
  }
  if (!gnu_hash_) {
    return 0;
  }
  std::vector<std::uint32_t> buckets(gnu_hash_->bucket_count);
  if (!memory.read(gnu_hash_->buckets,
                   std::as_writable_bytes(std::span(buckets)))) {
    return 0;
  }
  std::uint32_t index = *std::ranges::max_element(buckets);
  for (int step = 0; step < kMaxChainSteps && index < kMaxSymbols; ++step) {
    if (index < gnu_hash_->symbol_offset) {
      return 0;
    }
    const auto chained = memory.read_value<std::uint32_t>(
        gnu_hash_->chains +
        std::uint64_t{index - gnu_hash_->symbol_offset} * 4);
    if (!chained) {
      return 0;
    }
    ++index;
    if ((*chained & 1U) != 0) {
      return index;
    }
  }
  return 0;
}

std::optional<ElfImage::Candidate> ElfImage::symbol_if_named(
    const MemoryReader& memory,
    std::uint32_t index,
    std::string_view name) const {
  const auto symbol = memory.read_value<Elf64_Sym>(
      symbols_ + std::uint64_t{index} * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF ||
      symbol->st_name >= strings_size_) {
    return {};
  }
  const auto text =
      memory.read_string(strings_ + symbol->st_name, name.size() + 1);
  if (!text || *text != name) {
    return {};
  }
  Candidate candidate;
  candidate.symbol = {Address{bias_ + symbol->st_value}, symbol->st_size};
  if (versions_) {
    // Bit 15 marks a version that new programs do not link to.
    const auto version =
        memory.read_value<std::uint16_t>(versions_ + std::uint64_t{index} * 2);
    candidate.hidden = version && (*version & 0x8000U) != 0;
  }
  return candidate;
}

}  // namespace hangdbg
