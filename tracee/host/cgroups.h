// The control groups that a process is in (cgroups(7)), of version 1 and 2, and
// where their files are for us.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct Cgroup {
  bool unified = false;  // version 2
  std::string path;      // as in /proc/PID/cgroup: "/jobs/7"
  std::string folder;    // "/sys/fs/cgroup/memory/jobs/7"
  std::string top;       // the folder of the highest group that is seen here

  // Its folder, that of the group around it, and so on to the top: a limit of
  // each holds.
  std::vector<std::string> folders() const;
};

class Cgroups {
 public:
  // Errors: those of read_proc_file.
  static Result<Cgroups> read(int pid);

  // From /proc/PID/cgroup and the reader's own mountinfo. Omits what does not
  // parse or is not mounted.
  static Cgroups parse(std::string_view groups, std::string_view mountinfo);

  // That in which a controller is: "memory", "cpu", "pids", "freezer". Version
  // 1's, where there are both. Null if there is none.
  const Cgroup* find(std::string_view controller) const;
  const Cgroup* unified() const { return unified_ ? &*unified_ : nullptr; }

 private:
  std::map<std::string, Cgroup, std::less<>> by_controller_;
  std::optional<Cgroup> unified_;
};

// A file of a group, without its last newline; none if it is not there.
std::optional<std::string> read_cgroup_file(const std::string& folder,
                                            std::string_view name);

// Why a process does not run at all.
struct Frozen {
  std::string path;     // of the group
  std::string command;  // resumes it: "echo THAWED > ..."
};
std::optional<Frozen> find_frozen(int pid);

}  // namespace hangdbg
