// What a core file's notes tell of the process (elf(5), the kernel's
// fs/binfmt_elf.c): its threads with their registers, its name, the signal that
// ended it, and which files were mapped where.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracee/memory/address.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct CoreThread {
  int tid = 0;
  user_regs_struct registers{};
};

struct CoreSignal {
  int number = 0;
  int code = 0;                    // si_code
  std::optional<Address> address;  // of the fault, where it is one
  std::optional<int> sender;       // PID of the sender
};

struct CoreNotes {
  int pid = 0;
  std::string program;    // comm, at most 15 bytes
  std::string arguments;  // its command line, at most 79 bytes
  std::optional<CoreSignal> signal;
  std::vector<CoreThread> threads;  // first the one that got the signal
  std::vector<Mapping> files;       // without their permissions
};

// `notes` are the contents of the PT_NOTE segments, one after the other.
// Errors: Unreadable, when there is no thread in them.
Result<CoreNotes> parse_core_notes(std::span<const std::byte> notes);

}  // namespace hangdbg
