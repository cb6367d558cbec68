// Whether the program's code is run by the CPU itself. An emulator (valgrind,
// QEMU, DynamoRIO) reads it, and what its threads run is the emulator's: their
// registers are no program's, and the program's libc does not know them.
//
// The kernel starts the emulator, which then maps the program's loader. So the
// loader that is mapped is another than the one that the kernel has started.
#pragma once

#include <vector>

#include "base/result.h"
#include "injector/checks/danger.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

// Errors: Emulated, naming what the kernel has started.
Status check_not_emulated(int pid,
                          const std::vector<Module>& modules,
                          const DangerousCode& danger);

}  // namespace hangdbg
