#include "tracee/elf/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/path_error.h"
#include "base/text.h"
#include "tracee/elf/module_file.h"
#include "tracee/elf/unpack.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxSegments = 1U << 20;
constexpr std::uint64_t kMaxNotes = 1U << 28;

// Opens, unpacks and checks; the size is that of the plain file.
struct Plain {
  std::shared_ptr<const FileBytes> bytes;
  std::uint64_t size = 0;
  std::vector<Elf64_Phdr> segments;
};
Result<Plain> open_plain(const std::string& path);
Result<CoreNotes> read_notes(const Plain& plain);
std::vector<Mapping> mappings(const Plain& plain, const CoreNotes& notes);
void add_segments(PiecedMemory& memory,
                  const Module& module,
                  const std::shared_ptr<const FileBytes>& file);
void add_files(CoreFile& core, const std::string& program);

}  // namespace

Result<CoreFile> CoreFile::open(const std::string& path,
                                const Options& options) {
  const Plain plain = TRY(open_plain(path));
  CoreFile core{.path = path,
                .notes = TRY(read_notes(plain)),
                .files = TargetFiles::below(options.sysroot)};
  for (const Elf64_Phdr& segment : plain.segments) {
    if (segment.p_type != PT_LOAD || segment.p_filesz == 0) {
      continue;
    }
    const std::uint64_t here =
        segment.p_offset < plain.size
            ? std::min<std::uint64_t>(segment.p_filesz,
                                      plain.size - segment.p_offset)
            : 0;
    core.missing += segment.p_filesz - here;
    core.memory.add(Address{segment.p_vaddr}, here, plain.bytes,
                    segment.p_offset);
  }
  core.maps = mappings(plain, core.notes);
  core.modules = find_modules(core.maps);
  add_files(core, options.program);
  return core;
}

namespace {

std::unexpected<Error> no_core(const std::string& path, const char* why) {
  return fail(ErrorId::Usage,
              fmt::format("{} is no core file: {}", printable(path), why),
              fmt::format("file {}", shell_quote(path)));
}

Result<Plain> open_plain(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return cannot_read(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return no_core(path, "it is no regular file");
  }
  file = TRY(unpacked(std::move(file)));
  if (::fstat(file.get(), &status) != 0) {
    return fail_errno("cannot read a file", ErrorId::Unreadable);
  }
  Plain plain{.bytes = std::make_shared<FileBytes>(std::move(file)),
              .size = static_cast<std::uint64_t>(status.st_size)};
  const auto header = plain.bytes->read_value<Elf64_Ehdr>(Address{});
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return no_core(path, "it is no ELF file");
  }
  if (header->e_type != ET_CORE) {
    return no_core(path, "it is a program or a library");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_machine != EM_X86_64) {
    return fail(
        ErrorId::Wrong32Bit,
        fmt::format("{} is of another kind of machine", printable(path)),
        fmt::format("gdb -c {}", shell_quote(path)));
  }
  // Too many for the field: then the first section has their number (elf(5)).
  std::size_t count = header->e_phnum;
  if (count == PN_XNUM) {
    const auto first =
        plain.bytes->read_value<Elf64_Shdr>(Address{header->e_shoff});
    count = first ? first->sh_info : 0;
  }
  if (count > kMaxSegments || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return no_core(path, "its header makes no sense");
  }
  plain.segments.resize(count);
  if (!plain.bytes->read(Address{header->e_phoff},
                         std::as_writable_bytes(std::span(plain.segments)))) {
    return no_core(path, "it is cut off in its header");
  }
  return plain;
}

Result<CoreNotes> read_notes(const Plain& plain) {
  std::vector<std::byte> notes;
  for (const Elf64_Phdr& segment : plain.segments) {
    if (segment.p_type != PT_NOTE || segment.p_offset >= plain.size) {
      continue;
    }
    const std::uint64_t size = std::min(
        {segment.p_filesz, plain.size - segment.p_offset,
         kMaxNotes - std::min<std::uint64_t>(kMaxNotes, notes.size())});
    const std::size_t filled = notes.size();
    notes.resize(filled + size);
    TRY(plain.bytes->read(Address{segment.p_offset},
                          std::span(notes).subspan(filled)));
  }
  return parse_core_notes(notes);
}

// Each segment is a mapping; those of files are named by the notes, which alone
// tell of those that gcore leaves out.
std::vector<Mapping> mappings(const Plain& plain, const CoreNotes& notes) {
  std::vector<Mapping> maps;
  for (const Elf64_Phdr& segment : plain.segments) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) {
      continue;
    }
    Mapping mapping{.start = Address{segment.p_vaddr},
                    .end = Address{segment.p_vaddr} + segment.p_memsz,
                    .readable = (segment.p_flags & PF_R) != 0,
                    .writable = (segment.p_flags & PF_W) != 0,
                    .executable = (segment.p_flags & PF_X) != 0};
    const auto file = std::ranges::find_if(
        notes.files,
        [&](const Mapping& file) { return file.contains(mapping.start); });
    if (file != notes.files.end()) {
      mapping.path = file->path;
      mapping.offset = file->offset + (mapping.start - file->start);
      mapping.inode = 1;  // it has one; which is not told
    }
    maps.push_back(std::move(mapping));
  }
  const std::size_t segments = maps.size();
  for (const Mapping& file : notes.files) {
    const auto known = std::span(maps).first(segments);
    if (std::ranges::none_of(known, [&](const Mapping& mapping) {
          return file.contains(mapping.start);
        })) {
      maps.push_back(file);
      maps.back().readable = maps.back().executable = true;  // it may be
      maps.back().inode = 1;
    }
  }
  std::ranges::sort(maps, {}, &Mapping::start);
  return maps;
}

void add_segments(PiecedMemory& memory,
                  const Module& module,
                  const std::shared_ptr<const FileBytes>& file) {
  for (const Mapping& segment : module.segments) {
    memory.add(segment.start, segment.end - segment.start, file,
               segment.offset);
  }
}

// The first page of a file is in a core file where the kernel saw an ELF
// header. That and the program headers have the layout of all the rest, to the
// byte: no two builds have the same. (Behind them something may have been
// written.)
bool has_same_start(const MemoryReader& core,
                    const MemoryReader& file,
                    const Module& module) {
  const auto header = core.read_value<Elf64_Ehdr>(module.base);
  if (!header || header->e_phoff != sizeof *header) {
    return false;
  }
  std::vector<std::byte> here(sizeof *header +
                              header->e_phnum * sizeof(Elf64_Phdr));
  std::vector<std::byte> there(here.size());
  return core.read(module.base, here) && file.read(Address{}, there) &&
         here == there;
}

// The file of a module, if it holds what the core file has of it. The image is
// read with what the file says as well: its tables are mostly left out.
std::shared_ptr<const FileBytes> file_of(const CoreFile& core,
                                         const Module& module,
                                         const TargetFiles& files) {
  for (const std::string& path : files.ways_to(module)) {
    auto opened = open_file(path);
    if (!opened) {
      continue;
    }
    const auto file = std::make_shared<FileBytes>(*std::move(opened));
    if (has_same_start(core.memory, *file, module)) {
      return file;
    }
    PiecedMemory both = core.memory;
    add_segments(both, module, file);
    const auto image = ElfImage::read(both, module.base);
    if (image && open_module_file(files, core.memory, module, *image)) {
      return file;
    }
  }
  return nullptr;
}

// Whether all of it is in the core file, as the vdso is.
bool is_whole(const MemoryReader& memory, const Module& module) {
  return std::ranges::all_of(module.segments, [&](const Mapping& segment) {
    return memory.read_value<std::byte>(segment.start) &&
           memory.read_value<std::byte>(segment.end - 1);
  });
}

// What is mapped may be data: a locale, a cache.
bool may_be_code(const Module& module, const TargetFiles& files) {
  for (const std::string& path : files.ways_to(module)) {
    if (const auto file = open_file(path)) {
      return ElfFile::read(*file).has_value();
    }
  }
  return module.path.starts_with('/');
}

// The first file in the notes is the program's.
void add_files(CoreFile& core, const std::string& program) {
  const std::string executable =
      core.notes.files.empty() ? "" : core.notes.files.front().path;
  PiecedMemory whole = core.memory;
  for (const Module& module : core.modules) {
    Module named = module;
    TargetFiles files = core.files;
    if (!program.empty() && module.path == executable) {
      named.path = program;
      files = TargetFiles::below("");
    }
    if (const auto file = file_of(core, named, files)) {
      add_segments(whole, module, file);
    } else if (!is_whole(core.memory, module) && may_be_code(named, files)) {
      core.unknown.push_back(module.path);
    }
  }
  core.memory = std::move(whole);
}

}  // namespace

// In the gaps that are left.
void PiecedMemory::add(Address start,
                       std::uint64_t size,
                       std::shared_ptr<const MemoryReader> bytes,
                       std::uint64_t offset) {
  const Address end = start + size;
  while (start < end) {
    auto next = extents_.upper_bound(start);
    if (next != extents_.begin()) {
      const auto& before = std::prev(next)->second;
      if (start < before.end) {
        const std::uint64_t covered = before.end - start;
        if (covered >= end - start) {
          return;
        }
        start = before.end;
        offset += covered;
        continue;
      }
    }
    const Address stop =
        next == extents_.end() ? end : std::min(end, next->first);
    extents_.emplace(start, Extent{stop, bytes, offset});
    offset += stop - start;
    start = stop;
  }
}

Status PiecedMemory::read(Address from, std::span<std::byte> out) const {
  while (!out.empty()) {
    auto extent = extents_.upper_bound(from);
    if (extent == extents_.begin() || std::prev(extent)->second.end <= from) {
      return fail(ErrorId::Unreadable,
                  fmt::format("{:#x} is not in the core file", from.value));
    }
    extent = std::prev(extent);
    const auto& [end, bytes, offset] = extent->second;
    const std::size_t here = std::min<std::uint64_t>(out.size(), end - from);
    TRY(bytes->read(Address{offset + (from - extent->first)}, out.first(here)));
    out = out.subspan(here);
    from = from + here;
  }
  return {};
}

}  // namespace hangdbg
