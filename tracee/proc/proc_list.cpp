#include "tracee/proc/proc_list.h"

#include <algorithm>

#include "base/folder.h"
#include "base/text.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

Result<std::vector<int>> list_processes() {
  const Folder folder = open_folder("/proc");
  if (!folder) {
    return fail_errno("cannot read /proc");
  }
  std::vector<int> pids;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (const auto pid = parse_number<int>(entry->d_name)) {
      pids.push_back(*pid);
    }
  }
  std::ranges::sort(pids);
  return pids;
}

Result<std::multimap<int, int>> children_by_parent() {
  std::multimap<int, int> children;
  for (const int pid : TRY(list_processes())) {
    if (const auto status = read_status(pid)) {
      children.emplace(status->ppid, pid);
    }
  }
  return children;
}

Result<std::vector<int>> descendants_of(int pid) {
  auto children = TRY(children_by_parent());
  std::vector<int> found;
  std::vector<int> parents = {pid};
  while (!parents.empty()) {
    const auto [first, last] = children.equal_range(parents.back());
    parents.pop_back();
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      parents.push_back(child->second);
    }
    children.erase(first, last);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace hangdbg
