// What is mapped where: /proc/PID/maps (proc(5)), and its mappings grouped
// into modules, one an ELF file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct Mapping {
  Address start;
  Address end;  // one past the last byte
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  std::uint64_t offset = 0;  // into the file
  std::uint64_t device = 0;  // of the file, as in stat(2)
  std::uint64_t inode = 0;   // 0 for anonymous memory
  std::string path;          // "[stack]", "/usr/lib/libc.so.6", "… (deleted)"

  bool contains(Address address) const {
    return start <= address && address < end;
  }
};

// In the order of their addresses.
Result<std::vector<Mapping>> read_maps(int pid);

// The text of a maps file, one mapping a line; lines that do not parse are
// skipped, since a target names its own files.
std::vector<Mapping> parse_maps(std::string_view text);

// One file that is mapped as a program or library: its first mapping has file
// offset 0, and the ELF header is there.
struct Module {
  std::string path;
  Address base;                   // where file offset 0 is mapped
  Address end;                    // one past its last file-backed mapping
  std::vector<Mapping> segments;  // in the order of their addresses

  bool contains(Address address) const {
    return base <= address && address < end;
  }
};

// The vdso is a module too (path "[vdso]").
std::vector<Module> find_modules(const std::vector<Mapping>& maps);

}  // namespace hangdbg
