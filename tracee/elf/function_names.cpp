#include "tracee/elf/function_names.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tracee/elf/elf_file.h"
#include "tracee/elf/module_file.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kFunctionNamesMaxSymbols = 1U << 23;
constexpr std::uint64_t kFunctionNamesPiece = 1U << 14;
constexpr std::size_t kFunctionNamesMaxName = 1U << 14;
constexpr std::size_t kMaxNames = 100'000;  // that are read of one table
constexpr unsigned char kIndirect = 10;     // STT_GNU_IFUNC

// The best symbol so far for one address.
struct Wanted {
  Address code;
  Address start;
  unsigned char binding = 0;
  std::string name;
};

bool is_function(const Elf64_Sym& symbol) {
  const unsigned char type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == kIndirect) &&
         symbol.st_shndx != SHN_UNDEF;
}

// Of several for one place, what people call it: "read" before "__read", and
// what is exported before what is not.
bool is_better(unsigned char binding,
               const std::string& name,
               const Wanted& than) {
  if ((binding == STB_LOCAL) != (than.binding == STB_LOCAL)) {
    return binding != STB_LOCAL;
  }
  const auto underscores = [](const std::string& of) {
    return std::min(of.find_first_not_of('_'), of.size());
  };
  return underscores(name) < underscores(than.name);
}

class Search {
 public:
  Search(const MemoryReader& bytes,
         const SymbolTable& table,
         std::uint64_t bias,
         std::vector<Wanted>& wanted)
      : bytes_(bytes), table_(table), bias_(bias), wanted_(wanted) {}

  void run() {
    std::vector<Elf64_Sym> piece;
    const std::uint64_t count =
        std::min(table_.count, kFunctionNamesMaxSymbols);
    for (std::uint64_t done = 0; done < count; done += piece.size()) {
      piece.resize(std::min(kFunctionNamesPiece, count - done));
      if (!bytes_.read(table_.symbols + done * sizeof(Elf64_Sym),
                       std::as_writable_bytes(std::span(piece)))) {
        return;
      }
      std::ranges::for_each(piece, [&](const Elf64_Sym& one) { take(one); });
    }
  }

 private:
  void take(const Elf64_Sym& symbol) {
    const Address start{bias_ + symbol.st_value};
    const Address end = start + symbol.st_size;
    if (end <= wanted_.front().code || wanted_.back().code < start ||
        !is_function(symbol)) {
      return;
    }
    auto at = std::ranges::lower_bound(wanted_, start, {}, &Wanted::code);
    for (; at != wanted_.end() && at->code < end; ++at) {
      // Of a function inside another, and of those at one place.
      if (!at->name.empty() && start < at->start) {
        continue;
      }
      std::string name = name_of(symbol);
      const auto binding = ELF64_ST_BIND(symbol.st_info);
      if (!name.empty() && (at->name.empty() || at->start < start ||
                            is_better(binding, name, *at))) {
        at->start = start;
        at->binding = binding;
        at->name = std::move(name);
      }
    }
  }

  std::string name_of(const Elf64_Sym& symbol) {
    if (symbol.st_name >= table_.strings_size || ++names_read_ > kMaxNames) {
      return {};
    }
    return bytes_
        .read_string(
            table_.strings + symbol.st_name,
            std::min<std::uint64_t>(kFunctionNamesMaxName,
                                    table_.strings_size - symbol.st_name))
        .value_or("");
  }

  const MemoryReader& bytes_;
  const SymbolTable& table_;
  const std::uint64_t bias_;
  std::vector<Wanted>& wanted_;
  std::size_t names_read_ = 0;
};

// What one module's tables say; each is searched for what those before lack.
class Tables {
 public:
  Tables(std::uint64_t bias, std::span<const Address> code)
      : bias_(bias), missing_(code.begin(), code.end()) {}

  bool done() const { return missing_.empty(); }

  void ask(const MemoryReader& bytes, const SymbolTable& table) {
    names_.merge(function_names(bytes, table, bias_, missing_));
    std::erase_if(missing_, [&](Address at) { return names_.contains(at); });
  }

  void ask(const ElfFile& file, const MemoryReader& bytes, const char* table) {
    if (!done()) {
      ask(bytes, file.symbols(table));
    }
  }

  FunctionNames names() { return std::move(names_); }

 private:
  std::uint64_t bias_;
  std::vector<Address> missing_;
  FunctionNames names_;
};

}  // namespace

FunctionNames function_names(const TargetFiles& files,
                             const MemoryReader& memory,
                             const Module& module,
                             std::span<const Address> code) {
  const auto image = ElfImage::read(memory, module.base);
  if (!image || code.empty()) {
    return {};
  }
  Tables tables(image->bias(), code);
  const auto own = open_module_file(files, memory, module, *image);
  const auto file =
      own ? ElfFile::read(own->bytes) : std::unexpected(own.error());
  if (file) {
    // Sooner than from memory, and the target has not to page it in.
    tables.ask(*file, own->bytes, ".dynsym");
    tables.ask(*file, own->bytes, ".symtab");
  } else {
    tables.ask(memory, image->symbols(memory));
  }
  if (tables.done()) {
    return tables.names();
  }
  if (const auto debug = open_debug_file(files, memory, module, *image,
                                         own ? &own->bytes : nullptr)) {
    if (const auto symbols = ElfFile::read(debug->bytes)) {
      tables.ask(*symbols, debug->bytes, ".symtab");
    }
  }
  if (own && !tables.done()) {
    if (const auto packed = unpack_debug_data(own->bytes)) {
      if (const auto symbols = ElfFile::read(*packed)) {
        tables.ask(*symbols, *packed, ".symtab");
      }
    }
  }
  return tables.names();
}

FunctionNames function_names(const MemoryReader& bytes,
                             const SymbolTable& table,
                             std::uint64_t bias,
                             std::span<const Address> code) {
  FunctionNames names;
  if (code.empty()) {
    return names;
  }
  std::vector<Wanted> wanted;
  std::ranges::transform(code, std::back_inserter(wanted),
                         [](Address at) { return Wanted{.code = at}; });
  std::ranges::sort(wanted, {}, &Wanted::code);
  Search(bytes, table, bias, wanted).run();
  for (Wanted& each : wanted) {
    if (!each.name.empty()) {
      names.emplace(each.code, std::move(each.name));
    }
  }
  return names;
}

}  // namespace hangdbg
