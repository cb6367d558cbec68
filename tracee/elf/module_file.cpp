#include "tracee/elf/module_file.h"

#include <fmt/core.h>
#include <lzma.h>

#include <algorithm>
#include <cstring>

namespace hangdbg {
namespace {

constexpr std::uint64_t kMaxUnpacked = 1U << 26;
constexpr std::uint64_t kMaxText = 1U << 30;
constexpr std::size_t kModuleFileMaxNotes = 1U << 16;

using OwnedBytes = std::vector<std::byte>;

OwnedBytes build_id_of(const MemoryReader& memory, const ElfImage& image) {
  for (const AddressRange& range : image.notes()) {
    OwnedBytes notes(
        std::min<std::uint64_t>(range.end - range.start, kModuleFileMaxNotes));
    if (memory.read(range.start, notes)) {
      if (auto id = build_id_in(notes); !id.empty()) {
        return id;
      }
    }
  }
  return {};
}

// Without a build id only the code itself can tell, where the file is not the
// one that is mapped: no other has its inode as long as it is.
bool has_same_code(const MemoryReader& file,
                   const MemoryReader& memory,
                   const Module& module,
                   const ElfImage& image) {
  OwnedBytes here;
  OwnedBytes there;
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

// Where debuggers look (GDB's manual, "Debugging Information in Separate
// Files").
std::vector<std::string> debug_paths(const Module& module,
                                     const OwnedBytes& build_id,
                                     const MemoryReader* own) {
  std::string hex;
  for (const std::byte byte : build_id) {
    hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  std::vector<std::string> paths = {fmt::format(
      "/usr/lib/debug/.build-id/{}/{}.debug", hex.substr(0, 2), hex.substr(2))};
  const auto file = own != nullptr
                        ? ElfFile::read(*own)
                        : fail(ErrorId::Unreadable, "no file of its own");
  const OwnedBytes link =
      file ? file->section(".gnu_debuglink").value_or(OwnedBytes{})
           : OwnedBytes{};
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

Result<OwnedBytes> unpack_xz(const OwnedBytes& packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxUnpacked, 0) != LZMA_OK) {
    return fail(ErrorId::System, "no memory to unpack symbols");
  }
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  OwnedBytes unpacked;
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

}  // namespace

Result<ModuleFile> open_module_file(const TargetFiles& files,
                                    const MemoryReader& memory,
                                    const Module& module,
                                    const ElfImage& image) {
  const OwnedBytes build_id = build_id_of(memory, image);
  for (std::string& path : files.ways_to(module)) {
    auto file = open_file(path);
    if (!file) {
      continue;
    }
    const auto elf = ElfFile::read(*file);
    if (elf &&
        (build_id.empty() ? file->is_of(module.segments.front()) ||
                                has_same_code(*file, memory, module, image)
                          : elf->build_id() == build_id)) {
      return ModuleFile{std::move(path), *std::move(file)};
    }
  }
  return fail(ErrorId::Unreadable,
              fmt::format("the file {} is not the one that runs", module.path));
}

Result<ModuleFile> open_debug_file(const TargetFiles& files,
                                   const MemoryReader& memory,
                                   const Module& module,
                                   const ElfImage& image,
                                   const MemoryReader* own) {
  const OwnedBytes build_id = build_id_of(memory, image);
  if (build_id.empty()) {
    return fail(ErrorId::Unreadable,
                module.path + " has no build id to know its debug file by");
  }
  for (std::string& path : debug_paths(module, build_id, own)) {
    for (const std::string& root : files.roots()) {
      auto file = open_file(root + path);
      if (!file) {
        continue;
      }
      const auto elf = ElfFile::read(*file);
      if (elf && elf->build_id() == build_id) {
        return ModuleFile{std::move(path), *std::move(file)};
      }
    }
  }
  return fail(ErrorId::Unreadable, module.path + " has no debug file here");
}

Result<OwnBytes> unpack_debug_data(const MemoryReader& own) {
  const ElfFile file = TRY(ElfFile::read(own));
  return OwnBytes(TRY(unpack_xz(TRY(file.section(".gnu_debugdata")))));
}

Status OwnBytes::read(Address from, std::span<std::byte> out) const {
  if (from.value > bytes_.size() || bytes_.size() - from.value < out.size()) {
    return fail(ErrorId::Unreadable, "compressed symbols are cut off");
  }
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(from.value),
              out.size(), out.begin());
  return {};
}

}  // namespace hangdbg
