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

// The kernel has told the program where its headers are (getauxval(3)); linkers
// put them right behind the file's.
Result<ElfImage> read_program_image(int pid, const MemoryReader& memory) {
  const std::string text = TRY(read_proc_record(pid, "auxv"));
  std::array<std::uint64_t, 2> entry{};
  for (std::size_t at = 0; at + sizeof(entry) <= text.size();
       at += sizeof(entry)) {
    std::memcpy(entry.data(), text.data() + at, sizeof(entry));
    if (entry[0] == AT_PHDR) {
      return ElfImage::read(memory, Address{entry[1] - sizeof(Elf64_Ehdr)});
    }
  }
  return fail(ErrorId::Unreadable,
              fmt::format("process {} has no program headers", pid));
}

}  // namespace hangdbg
