#include "client/nodes/machine_facts.h"

#include <fmt/core.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/parallel_map.h"
#include "base/text.h"
#include "inspector/host/libraries.h"
#include "inspector/host/variables.h"
#include "nodes/hosts/host_list.h"
#include "tracee/proc/proc_limits.h"

namespace hangdbg {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kMostLines = 12;
constexpr std::size_t kMostValue = 80;
constexpr std::string_view kNotThere = "not set";
constexpr double kClocksApartS = 1;

// Families of variables that a job has alike everywhere.
constexpr std::array<std::string_view, 22> kShared = {
    "OMP_",      "KMP_",    "MKL_",       "OPENBLAS_",   "NCCL_",
    "RCCL_",     "GLOO_",   "TP_",        "TORCH_",      "PYTORCH_",
    "UCX_",      "FI_",     "IBV_",       "LD_",         "PYTHON",
    "XLA_",      "MASTER_", "WORLD_SIZE", "CUDA_LAUNCH", "CUDA_DEVICE_ORDER",
    "CUDA_HOME", "MALLOC_"};
// And what differs in health.
constexpr std::array<std::string_view, 2> kOwn = {"NCCL_HOSTID",
                                                  "TORCH_NCCL_DUMP"};

bool is_shared(std::string_view name) {
  const auto begins = [name](std::string_view beginning) {
    return name.starts_with(beginning);
  };
  return std::ranges::any_of(kShared, begins) &&
         std::ranges::none_of(kOwn, begins);
}

void add_limits(int pid, MachineFacts& facts) {
  const auto limits = read_limits(pid);
  if (!limits) {
    return;
  }
  const auto add = [&](const char* name, std::optional<std::uint64_t> most) {
    facts[name] = most ? fmt::format("{}", *most) : "no limit";
  };
  add("limit of open files", limits->open_files);
  add("limit of processes", limits->processes);
  add("limit of locked memory", limits->locked_memory);
  add("limit of address space", limits->address_space);
}

void add_libraries(int pid, MachineFacts& facts) {
  for (const Library& one :
       read_libraries(pid).value_or(std::vector<Library>())) {
    if (one.version) {
      facts[one.name] = *one.version;
    }
  }
}

MachineFacts facts_of(int pid) {
  MachineFacts facts;
  for (const auto& one :
       read_variables(pid).value_or(std::vector<EnvironmentVariable>())) {
    if (is_shared(one.name)) {
      facts[one.name] = one.value;
    }
  }
  add_limits(pid, facts);
  utsname kernel{};
  if (::uname(&kernel) == 0) {
    facts["kernel"] = kernel.release;
  }
  return facts;
}

// Of a node whose ranks are not alike: what each has.
std::string value_of(const FactsOfNode& node, const std::string& name) {
  std::set<std::string> values;
  for (const MachineFacts& rank : node.ranks) {
    const auto found = rank.find(name);
    if (found != rank.end()) {
      values.insert(found->second);
    }
  }
  std::string text;
  for (const std::string& value : values) {
    text += (text.empty() ? "" : " and ") + value;
  }
  return text.empty() ? std::string(kNotThere) : text.substr(0, kMostValue);
}

struct Difference {
  std::size_t fewest = 0;  // nodes
  std::string text;
};

std::optional<Difference> difference(const std::vector<FactsOfNode>& nodes,
                                     const std::string& name) {
  std::map<std::string, Names> by_value;
  for (const FactsOfNode& node : nodes) {
    if (!node.ranks.empty()) {
      by_value[value_of(node, name)].push_back(node.node);
    }
  }
  if (by_value.size() < 2) {
    return std::nullopt;
  }
  std::vector<std::pair<std::string, Names>> sorted(by_value.begin(),
                                                    by_value.end());
  std::ranges::stable_sort(sorted, {},
                           [](const auto& one) { return one.second.size(); });
  std::string text = name + ":";
  for (const auto& [value, names] : sorted) {
    text += fmt::format("{} {} on {}", text.ends_with(':') ? "" : ",",
                        printable(value), fold_hosts(names));
  }
  return Difference{sorted.front().second.size(), std::move(text)};
}

// Against the middle of all: ours may be the one that is wrong.
void add_clocks(const std::vector<FactsOfNode>& nodes,
                std::vector<Difference>& all) {
  std::vector<double> middles;
  for (const FactsOfNode& node : nodes) {
    middles.push_back((node.ahead_least_s + node.ahead_most_s) / 2);
  }
  if (middles.size() < 2) {
    return;
  }
  const auto middle =
      middles.begin() + static_cast<std::ptrdiff_t>(middles.size() / 2);
  std::ranges::nth_element(middles, middle);
  std::vector<Difference> found;
  for (const FactsOfNode& node : nodes) {
    const double least = node.ahead_least_s - *middle;
    const double most = node.ahead_most_s - *middle;
    if (least > kClocksApartS || most < -kClocksApartS) {
      const double by = least > 0 ? least : -most;
      found.push_back(
          {1, fmt::format("clock: {} is {} {} by at least {:.0f} s", node.node,
                          least > 0 ? "ahead" : "behind",
                          nodes.size() > 2 ? "of the others" : "of another one",
                          by)});
    }
  }
  std::ranges::move(found, std::back_inserter(all));
}

}  // namespace

std::map<int, MachineFacts> read_machine_facts(const std::vector<int>& pids,
                                               Deadline deadline) {
  std::map<int, MachineFacts> all;
  const int first = pids.empty() ? 0 : pids.front();
  parallel_map<MachineFacts>(
      pids, deadline,
      [](int pid) -> Result<MachineFacts> { return facts_of(pid); },
      [&](int pid, std::optional<Result<MachineFacts>> found) {
        if (found && *found) {
          all[pid] = **std::move(found);
        }
      });
  parallel_map<MachineFacts>(
      {first}, deadline,
      [](int pid) -> Result<MachineFacts> {
        MachineFacts facts;
        add_libraries(pid, facts);
        return facts;
      },
      [&](int, std::optional<Result<MachineFacts>> found) {
        if (found && *found && all.contains(first)) {
          all[first].merge(**std::move(found));
        }
      });
  return all;
}

std::vector<std::string> differences(const std::vector<FactsOfNode>& nodes) {
  std::set<std::string> names;
  for (const FactsOfNode& node : nodes) {
    for (const MachineFacts& rank : node.ranks) {
      for (const auto& [name, value] : rank) {
        names.insert(name);
      }
    }
  }
  std::vector<Difference> all;
  add_clocks(nodes, all);
  for (const std::string& name : names) {
    if (auto one = difference(nodes, name)) {
      all.push_back(*std::move(one));
    }
  }
  std::ranges::stable_sort(all, {}, &Difference::fewest);
  std::vector<std::string> lines;
  for (const Difference& one : all) {
    if (lines.size() == kMostLines) {
      lines.push_back(fmt::format("and {} more", all.size() - kMostLines));
      break;
    }
    lines.push_back(one.text);
  }
  return lines;
}

double clock_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace hangdbg
