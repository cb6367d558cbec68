#include "tracee/host/cgroups.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "base/deadline.h"
#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// Where a hierarchy is mounted, and which group is its root there: not the
// first of all in a container.
struct Hierarchy {
  std::string_view point;
  std::string_view root;
  std::vector<std::string_view> controllers;  // "" stands for version 2
};

std::vector<Hierarchy> hierarchies(std::string_view mountinfo);
std::optional<Cgroup> locate(std::string_view path,
                             std::string_view controller,
                             const std::vector<Hierarchy>& mounted);
Result<std::string> own_mounts();
bool is_frozen(const Cgroup& group);
std::string freezing_file(const Cgroup& group);

}  // namespace

std::vector<std::string> Cgroup::folders() const {
  std::vector<std::string> all;
  std::string at = folder;
  while (at.size() > top.size()) {
    all.push_back(at);
    at.resize(at.rfind('/'));
  }
  all.push_back(top);
  return all;
}

Result<Cgroups> Cgroups::read(int pid) {
  const std::string groups = TRY(read_proc_file(pid, "cgroup"));
  return parse(groups, TRY(own_mounts()));
}

// "4:cpu,cpuacct:/jobs/7", "0::/jobs/7"
Cgroups Cgroups::parse(std::string_view groups, std::string_view mountinfo) {
  Cgroups found;
  const auto mounted = hierarchies(mountinfo);
  for (const std::string_view line : split(groups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second =
        first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) {
      continue;
    }
    const std::string_view path = line.substr(second + 1);
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (names.empty()) {
      found.unified_ = locate(path, "", mounted);
      continue;
    }
    for (const std::string_view name : split(names, ',')) {
      if (auto group = locate(path, name, mounted)) {
        found.by_controller_.emplace(name, *std::move(group));
      }
    }
  }
  return found;
}

const Cgroup* Cgroups::find(std::string_view controller) const {
  const auto own = by_controller_.find(controller);
  return own != by_controller_.end() ? &own->second : unified();
}

std::optional<std::string> read_cgroup_file(const std::string& folder,
                                            std::string_view name) {
  std::ifstream file(fmt::format("{}/{}", folder, name));
  if (!file) {
    return {};
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

// Either freezer can do it.
std::optional<Frozen> find_frozen(int pid) {
  const auto groups = Cgroups::read(pid);
  if (!groups) {
    return {};
  }
  for (const Cgroup* group : {groups->find("freezer"), groups->unified()}) {
    if (group != nullptr && is_frozen(*group)) {
      return Frozen{group->path,
                    fmt::format("echo {} > {}", group->unified ? "0" : "THAWED",
                                shell_quote(freezing_file(*group)))};
    }
  }
  return {};
}

namespace {

// "33 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu"
std::vector<Hierarchy> hierarchies(std::string_view mountinfo) {
  std::vector<Hierarchy> found;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - cgroup");
    if (dash == line.npos) {
      continue;
    }
    const auto fields = split(line.substr(0, dash), ' ');
    const auto kind = split(line.substr(dash + 3), ' ');
    if (fields.size() < 5 || kind.size() < 3) {
      continue;
    }
    if (kind[0] == "cgroup") {
      found.push_back({fields[4], fields[3], split(kind[2], ',')});
    } else if (kind[0] == "cgroup2") {
      found.push_back({fields[4], fields[3], {""}});
    }
  }
  return found;
}

std::optional<Cgroup> locate(std::string_view path,
                             std::string_view controller,
                             const std::vector<Hierarchy>& mounted) {
  const auto hierarchy =
      std::ranges::find_if(mounted, [&](const Hierarchy& one) {
        return std::ranges::find(one.controllers, controller) !=
               one.controllers.end();
      });
  if (hierarchy == mounted.end()) {
    return {};
  }
  std::string_view below = path;
  if (hierarchy->root != "/") {
    const std::string_view root = hierarchy->root;
    if (!path.starts_with(root) ||
        (path.size() > root.size() && path[root.size()] != '/')) {
      return {};  // outside of what we see
    }
    below.remove_prefix(root.size());
  }
  if (below == "/" || below.starts_with("/..")) {
    below = "";
  }
  Cgroup group{.unified = controller.empty(), .path = std::string(path)};
  group.top = hierarchy->point;
  group.folder = group.top + std::string(below);
  return group;
}

// They hardly change, and take longer to read than all else here; several
// checks ask one after the other.
Result<std::string> own_mounts() {
  constexpr auto kStillSo = std::chrono::milliseconds(200);
  thread_local std::string mounts;
  thread_local Deadline old = Deadline::in({});
  if (old.expired()) {
    mounts = TRY(read_proc_file(::getpid(), "mountinfo"));
    old = Deadline::in(kStillSo);
  }
  return mounts;
}

bool is_frozen(const Cgroup& group) {
  if (!group.unified) {
    const auto state = read_cgroup_file(group.folder, "freezer.state");
    return state == "FROZEN" || state == "FREEZING";
  }
  const auto events = read_cgroup_file(group.folder, "cgroup.events");
  return events && ("\n" + *events + "\n").find("\nfrozen 1\n") != events->npos;
}

// The file that says so for the group itself or for one above it.
std::string freezing_file(const Cgroup& group) {
  const char* own = group.unified ? "cgroup.freeze" : "freezer.self_freezing";
  const char* file = group.unified ? "cgroup.freeze" : "freezer.state";
  for (const std::string& folder : group.folders()) {
    if (read_cgroup_file(folder, own) == "1") {
      return fmt::format("{}/{}", folder, file);
    }
  }
  return fmt::format("{}/{}", group.folder, file);
}

}  // namespace
}  // namespace hangdbg
