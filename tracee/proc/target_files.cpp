#include "tracee/proc/target_files.h"

#include <fmt/core.h>

#include <utility>

#include "tracee/proc/proc_file.h"

namespace hangdbg {

TargetFiles TargetFiles::below(std::string sysroot) {
  TargetFiles files(0);
  files.sysroot_ = std::move(sysroot);
  return files;
}

// Of a live process by the mapping itself, which needs CAP_SYS_ADMIN but leads
// to files that no path does; by the program's own link; by path, in its root
// and, for one in a chroot, in ours.
std::vector<std::string> TargetFiles::ways_to(const Module& module) const {
  std::vector<std::string> ways;
  if (pid_ != 0) {
    ways.push_back(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid_,
                               module.segments.front().start.value,
                               module.segments.front().end.value));
    const auto program = read_proc_link(pid_, "exe");
    if (program && *program == module.path) {
      ways.push_back(fmt::format("/proc/{}/exe", pid_));
    }
  }
  for (const std::string& root : roots()) {
    ways.push_back(root + module.path);
  }
  return ways;
}

std::vector<std::string> TargetFiles::roots() const {
  if (pid_ != 0) {
    return {fmt::format("/proc/{}/root", pid_), ""};
  }
  return {sysroot_};
}

}  // namespace hangdbg
