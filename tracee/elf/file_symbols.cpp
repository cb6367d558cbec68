#include "tracee/elf/file_symbols.h"

#include <algorithm>
#include <cstring>

#include "tracee/elf/elf_file.h"
#include "tracee/elf/module_file.h"

namespace hangdbg {
namespace {

using OwnedBytes = std::vector<std::byte>;

struct Table {
  std::vector<Elf64_Sym> symbols;
  OwnedBytes strings;
};

Result<Table> read_table(const ElfFile& file) {
  const OwnedBytes symbols = TRY(file.section(".symtab"));
  Table table;
  table.symbols.resize(symbols.size() / sizeof(Elf64_Sym));
  std::memcpy(table.symbols.data(), symbols.data(),
              table.symbols.size() * sizeof(Elf64_Sym));
  table.strings = TRY(file.section(".strtab"));
  return table;
}

Result<Table> read_table(const MemoryReader& bytes) {
  return read_table(TRY(ElfFile::read(bytes)));
}

}  // namespace

Result<FileSymbols> FileSymbols::read(const TargetFiles& files,
                                      const MemoryReader& memory,
                                      const Module& module,
                                      const ElfImage& image) {
  const auto made_of = [&](std::string origin, Table table) {
    return FileSymbols(std::move(origin), image.bias(),
                       std::move(table.symbols), std::move(table.strings));
  };
  const auto file = open_module_file(files, memory, module, image);
  if (file) {
    if (auto table = read_table(file->bytes)) {
      return made_of(module.path, *std::move(table));
    }
  }
  const auto separate = open_debug_file(files, memory, module, image,
                                        file ? &file->bytes : nullptr);
  if (separate) {
    if (auto table = read_table(separate->bytes)) {
      return made_of(separate->path, *std::move(table));
    }
  }
  // The last, since it has functions and variables but no constants.
  if (file) {
    if (const auto packed = unpack_debug_data(file->bytes)) {
      if (auto table = read_table(*packed)) {
        return made_of(module.path, *std::move(table));
      }
    }
  }
  return fail(ErrorId::Unreadable, module.path + " has no symbols here");
}

std::optional<Symbol> FileSymbols::find(std::string_view name) const {
  std::optional<Symbol> local;
  for (const Elf64_Sym& symbol : symbols_) {
    if (symbol.st_shndx == SHN_UNDEF || !is_named(symbol, name)) {
      continue;
    }
    const Symbol found{Address{bias_ + symbol.st_value}, symbol.st_size};
    if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) {
      return found;
    }
    local = local.value_or(found);
  }
  return local;
}

std::optional<std::string> FileSymbols::function_at(Address address) const {
  const auto found =
      std::ranges::find_if(symbols_, [&](const Elf64_Sym& symbol) {
        const Address start{bias_ + symbol.st_value};
        return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
               symbol.st_shndx != SHN_UNDEF &&
               AddressRange{start, start + symbol.st_size}.contains(address);
      });
  if (found == symbols_.end() || found->st_name >= strings_.size()) {
    return {};
  }
  const auto* name =
      reinterpret_cast<const char*>(strings_.data()) + found->st_name;
  return std::string(name, ::strnlen(name, strings_.size() - found->st_name));
}

bool FileSymbols::is_named(const Elf64_Sym& symbol,
                           std::string_view name) const {
  const std::size_t end = std::size_t{symbol.st_name} + name.size();
  return end < strings_.size() && strings_[end] == std::byte{0} &&
         std::memcmp(strings_.data() + symbol.st_name, name.data(),
                     name.size()) == 0;
}

}  // namespace hangdbg
