// The program that a process runs, without a look at its maps: they are long
// where many libraries are loaded, and the kernel makes their text anew for
// each reader.
#pragma once

#include "base/result.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

// Where the kernel has put what it has started (getauxval(3)); 0: nothing.
struct StartedImages {
  Address program_headers;
  Address loader;  // its interpreter, in ELF's words: ld.so
};
// Errors: those of read_proc_file.
Result<StartedImages> read_started_images(int pid);

// `memory` is that process's. May wait for as long as it is in D state. Errors:
// those of read_proc_file and ElfImage::read; Unreadable, also where the linker
// has put the program's headers not behind the file's.
Result<ElfImage> read_program_image(int pid, const MemoryReader& memory);

}  // namespace hangdbg
