#include "inspector/jobs/process_tree.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

bool takes_orphans(int pid, const ProcessTree& tree);

}  // namespace

void add_with_ancestors(ProcessTree& tree, int pid) {
  while (pid > 0 && !tree.contains(pid)) {
    const auto status = read_status(pid);
    if (!status) {
      return;
    }
    tree[pid] = {status->ppid, status->name};
    pid = status->ppid;
  }
}

std::vector<int> ancestors(int pid, const ProcessTree& tree) {
  std::vector<int> found;
  auto at = tree.find(pid);
  while (at != tree.end() && found.size() < tree.size()) {
    at = tree.find(at->second.parent);
    if (at == tree.end()) {
      break;
    }
    found.push_back(at->first);
  }
  return found;
}

std::optional<int> common_ancestor(const std::vector<int>& pids,
                                   const ProcessTree& tree) {
  std::optional<std::vector<int>> common;
  for (const int pid : pids) {
    const auto above = ancestors(pid, tree);
    if (!common) {
      common = above;
    }
    std::erase_if(*common, [&](int one) {
      return std::ranges::find(above, one) == above.end();
    });
  }
  return common && !common->empty() && !takes_orphans(common->front(), tree)
             ? std::optional(common->front())
             : std::nullopt;
}

bool is_orphan(int pid, const ProcessTree& tree) {
  const auto process = tree.find(pid);
  return process != tree.end() && takes_orphans(process->second.parent, tree);
}

namespace {

// Whether orphans are reparented to it: whatever is process 1, but what is
// known to start ranks, as in a container.
bool takes_orphans(int pid, const ProcessTree& tree) {
  constexpr std::array<std::string_view, 6> kTakers = {
      "systemd", "init", "tini", "dumb-init", "docker-init", "catatonit"};
  constexpr std::array<std::string_view, 11> kLaunchers = {
      "python", "pt_",   "torchrun", "deepspeed", "accelerate", "mpi",
      "prte",   "hydra", "orte",     "slurm",     "ray"};
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash",
                                                       "zsh", "ash"};
  const auto process = tree.find(pid);
  if (process == tree.end()) {
    return false;
  }
  const std::string_view name = process->second.name;
  const bool starts_ranks =
      std::ranges::find(kShells, name) != kShells.end() ||
      std::ranges::any_of(kLaunchers, [&](std::string_view launcher) {
        return name.starts_with(launcher);
      });
  return std::ranges::find(kTakers, name) != kTakers.end() ||
         (pid == 1 && !starts_ranks);
}

}  // namespace
}  // namespace hangdbg
