// Where to look for the files of a process: those of a live one in its own
// root, those of a core file in a root that the caller names.
#pragma once

#include <string>
#include <vector>

#include "tracee/proc/proc_maps.h"

namespace hangdbg {

class TargetFiles {
 public:
  // Of a live process. Not explicit: a pid is what most have.
  TargetFiles(int pid) : pid_(pid) {}

  // Of a process that is no more; "" is our own root.
  static TargetFiles below(std::string sysroot);

  // Where the file of that module may be, the surest way first.
  std::vector<std::string> ways_to(const Module& module) const;

  // In front of an absolute path: "/proc/79655/root", "".
  std::vector<std::string> roots() const;

 private:
  int pid_ = 0;  // 0: none
  std::string sysroot_;
};

}  // namespace hangdbg
