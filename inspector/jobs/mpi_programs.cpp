#include "inspector/jobs/mpi_programs.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "inspector/jobs/process_tree.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

bool has_mpi(int pid) {
  const auto status = read_status(pid);
  if (!status || status->state == 'D') {
    return false;
  }
  const auto maps = read_maps(pid);
  return maps && std::ranges::any_of(*maps, [](const Mapping& mapping) {
           return is_mpi_library(mapping.path);
         });
}

}  // namespace

bool is_mpi_library(std::string_view path) {
  return base_name(path).starts_with("libmpi");
}

Result<std::vector<int>> mpi_programs_below(int launcher, Deadline deadline) {
  const auto pids = TRY(list_processes());
  ProcessTree tree;
  std::vector<int> found;
  for (const int pid : pids) {
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut, "there was no time for all processes");
    }
    add_with_ancestors(tree, pid);
    const auto above = ancestors(pid, tree);
    if (std::ranges::find(above, launcher) != above.end() && has_mpi(pid)) {
      found.push_back(pid);
    }
  }
  return found;
}

}  // namespace hangdbg
