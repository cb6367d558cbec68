#include "tracee/program/program_image.h"

#include <elf.h>
#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tracee/proc/proc_file.h"

namespace hangdbg {

Result<StartedImages> read_started_images(int pid) {
  const std::string text = TRY(read_proc_record(pid, "auxv"));
  StartedImages images;
  std::array<std::uint64_t, 2> entry{};
  for (std::size_t at = 0; at + sizeof(entry) <= text.size();
       at += sizeof(entry)) {
    std::memcpy(entry.data(), text.data() + at, sizeof(entry));
    if (entry[0] == AT_PHDR) {
      images.program_headers = Address{entry[1]};
    } else if (entry[0] == AT_BASE) {
      images.loader = Address{entry[1]};
    }
  }
  return images;
}

// Linkers put its headers right behind the file's.
Result<ElfImage> read_program_image(int pid, const MemoryReader& memory) {
  const auto started = TRY(read_started_images(pid));
  if (!started.program_headers) {
    return fail(ErrorId::Unreadable,
                fmt::format("process {} has no program headers", pid));
  }
  return ElfImage::read(memory, started.program_headers - sizeof(Elf64_Ehdr));
}

}  // namespace hangdbg
