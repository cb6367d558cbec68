#include "tracee/file_symbols.h"

#include <fmt/core.h>
#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tracee/elf_file.h"
#include "tracee/proc_file.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kMaxUnpacked = 1U << 26;
constexpr std::uint64_t kMaxText = 1U << 30;
constexpr std::size_t kMaxNotes = 1U << 16;

using Bytes = std::vector<std::byte>;

struct Table {
  std::vector<Elf64_Sym> symbols;
  Bytes strings;
};

// Bytes of ours as memory that begins at 0.
class OwnBytes final : public MemoryReader {
 public:
  explicit OwnBytes(const Bytes& bytes) : bytes_(bytes) {}
  Status read(Address from, std::span<std::byte> out) const override {
    if (from.value > bytes_.size() || bytes_.size() - from.value < out.size()) {
      return fail(ErrorId::Unreadable, "compressed symbols are cut off");
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(from.value),
                out.size(), out.begin());
    return {};
  }

 private:
  const Bytes& bytes_;
};

// ---- tables

Result<Table> read_table(const ElfFile& file) {
  const Bytes symbols = TRY(file.section(".symtab"));
  Table table;
  table.symbols.resize(symbols.size() / sizeof(Elf64_Sym));
  std::memcpy(table.symbols.data(), symbols.data(),
              table.symbols.size() * sizeof(Elf64_Sym));
  table.strings = TRY(file.section(".strtab"));
  return table;
}

Result<Bytes> unpack_xz(const Bytes& packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxUnpacked, 0) != LZMA_OK) {
    return fail(ErrorId::System, "no memory to unpack symbols");
  }
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  Bytes unpacked;
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK && unpacked.size() < kMaxUnpacked) {
    const std::size_t filled = unpacked.size();
    unpacked.resize(filled + packed.size() * 4);
    stream.next_out = reinterpret_cast<std::uint8_t*>(unpacked.data() + filled);
    stream.avail_out = unpacked.size() - filled;
    state = lzma_code(&stream, LZMA_FINISH);
  }
  unpacked.resize(stream.total_out);
  lzma_end(&stream);
  if (state != LZMA_STREAM_END) {
    return fail(ErrorId::Unreadable, "compressed symbols are damaged");
  }
  return unpacked;
}

// What Fedora calls MiniDebuginfo: an ELF file with symbols alone.
Result<Table> read_packed_table(const ElfFile& file) {
  const Bytes bytes = TRY(unpack_xz(TRY(file.section(".gnu_debugdata"))));
  const OwnBytes unpacked(bytes);
  return read_table(TRY(ElfFile::read(unpacked)));
}

// ---- the module's own file

Bytes build_id_of(const MemoryReader& memory, const ElfImage& image) {
  for (const AddressRange& range : image.notes()) {
    Bytes notes(std::min<std::uint64_t>(range.end - range.start, kMaxNotes));
    if (memory.read(range.start, notes)) {
      if (auto id = build_id_in(notes); !id.empty()) {
        return id;
      }
    }
  }
  return {};
}

// Without a build id only the code itself can tell.
bool has_same_code(const MemoryReader& file,
                   const MemoryReader& memory,
                   const Module& module,
                   const ElfImage& image) {
  Bytes here;
  Bytes there;
  for (const AddressRange& text : image.text()) {
    const auto segment = std::ranges::find_if(
        module.segments,
        [&](const Mapping& mapping) { return mapping.contains(text.start); });
    if (segment == module.segments.end() || text.end - text.start > kMaxText) {
      return false;
    }
    here.resize(text.end - text.start);
    there.resize(here.size());
    const std::uint64_t offset =
        segment->offset + (text.start - segment->start);
    if (!file.read(Address{offset}, here) || !memory.read(text.start, there) ||
        here != there) {
      return false;
    }
  }
  return true;
}

// By the mapping itself, which needs CAP_SYS_ADMIN but leads to files that no
// path does; by the program's own link; by path, in the target's root and, for
// a target in a chroot, in ours.
std::vector<std::string> ways_to(int pid, const Module& module) {
  std::vector<std::string> ways = {fmt::format(
      "/proc/{}/map_files/{:x}-{:x}", pid, module.segments.front().start.value,
      module.segments.front().end.value)};
  const auto program = read_proc_link(pid, "exe");
  if (program && *program == module.path) {
    ways.push_back(fmt::format("/proc/{}/exe", pid));
  }
  ways.push_back(fmt::format("/proc/{}/root{}", pid, module.path));
  ways.push_back(module.path);
  return ways;
}

Result<FileBytes> open_module_file(int pid,
                                   const MemoryReader& memory,
                                   const Module& module,
                                   const ElfImage& image,
                                   const Bytes& build_id) {
  for (const std::string& path : ways_to(pid, module)) {
    auto file = open_file(path);
    if (!file) {
      continue;
    }
    const auto elf = ElfFile::read(*file);
    if (elf && (build_id.empty() ? has_same_code(*file, memory, module, image)
                                 : elf->build_id() == build_id)) {
      return file;
    }
  }
  return fail(ErrorId::Unreadable,
              fmt::format("the file {} is not the one that runs", module.path));
}

// ---- its debug file

// Where debuggers look (GDB's manual, "Debugging Information in Separate
// Files").
std::vector<std::string> debug_paths(const Module& module,
                                     const Bytes& build_id,
                                     const Result<ElfFile>& file) {
  std::string hex;
  for (const std::byte byte : build_id) {
    hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  std::vector<std::string> paths = {fmt::format(
      "/usr/lib/debug/.build-id/{}/{}.debug", hex.substr(0, 2), hex.substr(2))};
  const Bytes link =
      file ? file->section(".gnu_debuglink").value_or(Bytes{}) : Bytes{};
  const auto* text = reinterpret_cast<const char*>(link.data());
  const std::string name(text, link.empty() ? 0 : ::strnlen(text, link.size()));
  if (!name.empty() && name.find('/') == name.npos) {
    const std::string folder =
        module.path.substr(0, module.path.rfind('/') + 1);
    for (const std::string& in :
         {folder, folder + ".debug/", "/usr/lib/debug" + folder}) {
      paths.push_back(in + name);
    }
  }
  return paths;
}

struct Found {
  std::string path;
  Table table;
};

Result<Found> read_debug_file(int pid,
                              const Module& module,
                              const Bytes& build_id,
                              const Result<ElfFile>& file) {
  if (build_id.empty()) {
    return fail(ErrorId::Unreadable,
                module.path + " has no build id to know its debug file by");
  }
  for (const std::string& path : debug_paths(module, build_id, file)) {
    for (const std::string& root :
         {fmt::format("/proc/{}/root", pid), std::string()}) {
      const auto bytes = open_file(root + path);
      if (!bytes) {
        continue;
      }
      const auto debug = ElfFile::read(*bytes);
      if (debug && debug->build_id() == build_id) {
        if (auto table = read_table(*debug)) {
          return Found{path, *std::move(table)};
        }
      }
    }
  }
  return fail(ErrorId::Unreadable, module.path + " has no debug file here");
}

}  // namespace

Result<FileSymbols> FileSymbols::read(int pid,
                                      const MemoryReader& memory,
                                      const Module& module,
                                      const ElfImage& image) {
  const auto made_of = [&](std::string origin, Table table) {
    return FileSymbols(std::move(origin), image.bias(),
                       std::move(table.symbols), std::move(table.strings));
  };
  const Bytes build_id = build_id_of(memory, image);
  const auto bytes = open_module_file(pid, memory, module, image, build_id);
  const auto file =
      bytes ? ElfFile::read(*bytes) : std::unexpected(bytes.error());
  if (file) {
    if (auto table = read_table(*file)) {
      return made_of(module.path, *std::move(table));
    }
  }
  auto separate = read_debug_file(pid, module, build_id, file);
  if (separate) {
    return made_of(std::move(separate->path), std::move(separate->table));
  }
  // The last, since it has functions and variables but no constants.
  if (file) {
    if (auto table = read_packed_table(*file)) {
      return made_of(module.path, *std::move(table));
    }
  }
  return std::unexpected(std::move(separate).error());
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
