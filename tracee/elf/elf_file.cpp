#include "tracee/elf/elf_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace hangdbg {
namespace {

// More than any real file has.
constexpr std::size_t kMaxSections = 4096;

template <class T>
T copy_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

Result<ElfFile> ElfFile::read(const MemoryReader& bytes) {
  const auto header = TRY(bytes.read_value<Elf64_Ehdr>(Address{}));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return fail(ErrorId::Unreadable, "no 64-bit ELF file");
  }
  if (header.e_shnum > kMaxSections || header.e_shstrndx >= header.e_shnum ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    return fail(ErrorId::Unreadable, "an ELF file without sections");
  }
  ElfFile file(bytes);
  file.sections_.resize(header.e_shnum);
  TRY(bytes.read(Address{header.e_shoff},
                 std::as_writable_bytes(std::span(file.sections_))));
  const auto names = TRY(file.content(file.sections_[header.e_shstrndx]));
  file.names_.assign(reinterpret_cast<const char*>(names.data()), names.size());
  return file;
}

Result<std::vector<std::byte>> ElfFile::section(std::string_view name) const {
  const Elf64_Shdr* found = find(name);
  return found != nullptr
             ? content(*found)
             : fail(ErrorId::Unreadable, fmt::format("no section {}", name));
}

Result<SectionReader> ElfFile::open_section(std::string_view name) const {
  const Elf64_Shdr* found = find(name);
  return found != nullptr
             ? SectionReader::open(*bytes_, *found)
             : fail(ErrorId::Unreadable, fmt::format("no section {}", name));
}

SymbolTable ElfFile::symbols(std::string_view name) const {
  const Elf64_Shdr* table = find(name);
  if (table == nullptr || table->sh_type == SHT_NOBITS ||
      table->sh_link >= sections_.size()) {
    return {};
  }
  const Elf64_Shdr& strings = sections_[table->sh_link];
  return {Address{table->sh_offset}, table->sh_size / sizeof(Elf64_Sym),
          Address{strings.sh_offset}, strings.sh_size};
}

const Elf64_Shdr* ElfFile::find(std::string_view name) const {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_name < names_.size() &&
        names_.c_str() + section.sh_name == name) {
      return &section;
    }
  }
  return nullptr;
}

std::vector<std::byte> ElfFile::build_id() const {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_NOTE) {
      continue;
    }
    if (const auto notes = content(section)) {
      if (auto id = build_id_in(*notes); !id.empty()) {
        return id;
      }
    }
  }
  return {};
}

Result<std::vector<std::byte>> ElfFile::content(
    const Elf64_Shdr& section) const {
  SectionReader reader = TRY(SectionReader::open(*bytes_, section));
  std::vector<std::byte> bytes(reader.left());
  TRY(reader.read(bytes));
  return bytes;
}

// Each note: three words (the sizes of the name and of the content, the type),
// then both, padded to 4 bytes (elf(5)).
std::vector<std::byte> build_id_in(std::span<const std::byte> notes) {
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~3ULL; };
  while (notes.size() > sizeof(Elf64_Nhdr)) {
    const auto head = copy_at<Elf64_Nhdr>(notes, 0);
    const std::uint64_t name_at = sizeof head;
    const std::uint64_t content_at = name_at + padded(head.n_namesz);
    const std::uint64_t end = content_at + head.n_descsz;
    if (end > notes.size()) {
      break;
    }
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
        std::memcmp(notes.data() + name_at, ELF_NOTE_GNU, 4) == 0) {
      const auto id = notes.subspan(content_at, head.n_descsz);
      return {id.begin(), id.end()};
    }
    notes = notes.subspan(std::min<std::size_t>(padded(end), notes.size()));
  }
  return {};
}

Status FileBytes::read(Address from, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(file_.get(), out.data() + done, out.size() - done,
                static_cast<off_t>(from.value + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return fail_errno("cannot read a file", ErrorId::Unreadable);
    }
    if (got == 0) {
      return fail(ErrorId::Unreadable, "a file is shorter than it says");
    }
    done += static_cast<std::size_t>(got);
  }
  return {};
}

bool FileBytes::is_of(const Mapping& mapping) const {
  struct stat found {};
  return mapping.inode != 0 && ::fstat(file_.get(), &found) == 0 &&
         found.st_dev == mapping.device && found.st_ino == mapping.inode;
}

Result<FileBytes> open_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!file) {
    return fail_errno("cannot open " + path, ErrorId::Unreadable);
  }
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return fail(ErrorId::Unreadable, path + " is no file");
  }
  return FileBytes(std::move(file));
}

}  // namespace hangdbg
