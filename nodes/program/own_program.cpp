#include "nodes/program/own_program.h"

#include <elf.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

namespace hangdbg {
namespace {

constexpr std::size_t kIdBytes = 16;

// As the kernel has loaded them: the program is at the addresses that it was
// linked for.
std::span<const Elf64_Phdr> own_segments() {
  return {reinterpret_cast<const Elf64_Phdr*>(::getauxval(AT_PHDR)),
          ::getauxval(AT_PHNUM)};
}

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte :
       bytes.first(std::min(bytes.size(), kIdBytes))) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

// "" where the linker has made none, or the program may lie anywhere (PIE).
std::string build_id() {
  const auto segments = own_segments();
  const auto fixed = std::ranges::find_if(segments, [](const auto& one) {
    return one.p_type == PT_LOAD && one.p_offset == 0;
  });
  if (fixed == segments.end() || fixed->p_vaddr == 0) {
    return {};
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE) {
      continue;
    }
    std::size_t at = 0;
    const auto* const notes =
        reinterpret_cast<const unsigned char*>(segment.p_vaddr);
    while (at + sizeof(Elf64_Nhdr) <= segment.p_memsz) {
      Elf64_Nhdr note{};
      std::memcpy(&note, notes + at, sizeof(note));
      const std::size_t name = at + sizeof(note);
      const std::size_t bytes = name + ((note.n_namesz + 3) & ~3U);
      const std::size_t end = bytes + note.n_descsz;
      if (end > segment.p_memsz) {
        break;
      }
      if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= kIdBytes) {
        return to_hex({notes + bytes, note.n_descsz});
      }
      const std::size_t align = std::max<std::size_t>(segment.p_align, 4);
      at = (end + align - 1) & ~(align - 1);
    }
  }
  return {};
}

// Its section headers lie behind what is loaded.
void forget_sections(std::string& bytes) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof(header));
}

}  // namespace

std::string own_program_id() {
  if (std::string id = build_id(); !id.empty()) {
    return id;
  }
  const auto bytes = read_own_program();
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  if (bytes) {
    ::EVP_Digest(bytes->data(), bytes->size(), digest.data(), nullptr,
                 ::EVP_sha256(), nullptr);
  }
  return to_hex(digest);
}

std::size_t own_program_size() {
  std::size_t end = 0;
  for (const Elf64_Phdr& segment : own_segments()) {
    if (segment.p_type == PT_LOAD) {
      end = std::max<std::size_t>(end, segment.p_offset + segment.p_filesz);
    }
  }
  return end;
}

Result<std::string> read_own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string bytes(own_program_size(), '\0');
  if (bytes.size() < sizeof(Elf64_Ehdr) ||
      !file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    return fail_errno("cannot read hangdbg's own file");
  }
  forget_sections(bytes);
  return bytes;
}

}  // namespace hangdbg
