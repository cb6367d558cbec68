#include "tracee/host/cgroups.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// Where a hierarchy is mounted, and which group is its root there: not the
// first of all in a container.
struct Hierarchy {
  std::string point;
  std::string root;
};

std::optional<Hierarchy> find_hierarchy(std::string_view mountinfo,
                                        std::string_view controller);
std::optional<Cgroup> locate(std::string_view path,
                             std::string_view controller,
                             std::string_view mountinfo);
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
  return parse(groups, TRY(read_proc_file(::getpid(), "mountinfo")));
}

// "4:cpu,cpuacct:/jobs/7", "0::/jobs/7"
Cgroups Cgroups::parse(std::string_view groups, std::string_view mountinfo) {
  Cgroups found;
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
      found.unified_ = locate(path, "", mountinfo);
      continue;
    }
    for (const std::string_view name : split(names, ',')) {
      if (auto group = locate(path, name, mountinfo)) {
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

// "33 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu"; ""
// stands for version 2.
std::optional<Hierarchy> find_hierarchy(std::string_view mountinfo,
                                        std::string_view controller) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) {
      continue;
    }
    const auto fields = split(line.substr(0, dash), ' ');
    const auto kind = split(line.substr(dash + 3), ' ');
    if (fields.size() < 5 || kind.size() < 3) {
      continue;
    }
    bool is = controller.empty() && kind[0] == "cgroup2";
    for (const std::string_view option : split(kind[2], ',')) {
      is = is || (kind[0] == "cgroup" && option == controller);
    }
    if (is) {
      return Hierarchy{std::string(fields[4]), std::string(fields[3])};
    }
  }
  return {};
}

std::optional<Cgroup> locate(std::string_view path,
                             std::string_view controller,
                             std::string_view mountinfo) {
  auto hierarchy = find_hierarchy(mountinfo, controller);
  if (!hierarchy) {
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
  group.folder = hierarchy->point + std::string(below);
  group.top = std::move(hierarchy->point);
  return group;
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
