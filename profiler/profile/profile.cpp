#include "profiler/profile/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <ranges>
#include <utility>

namespace hangdbg {
namespace {

constexpr std::size_t kMostRuns = 8'000'000;  // 192 MB
constexpr std::size_t kNoRun = std::numeric_limits<std::size_t>::max();

}  // namespace

std::uint32_t Profile::place(const ProfilePlace& place) {
  const auto [found, is_new] =
      place_ids_.try_emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (is_new) {
    places_.push_back(place);
  }
  return found->second;
}

std::uint32_t Profile::child(std::uint32_t parent, const ProfilePlace& place) {
  const std::uint32_t id = this->place(place);
  const std::uint64_t key = std::uint64_t{parent} << 32 | id;
  const auto [found, is_new] =
      node_ids_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) {
    nodes_.push_back({.parent = parent, .place = id});
  }
  return found->second;
}

std::uint32_t Profile::stack(std::uint32_t root,
                             std::span<const PythonFrame> frames,
                             bool whole_functions) {
  std::uint32_t node = root;
  for (const PythonFrame& frame : std::views::reverse(frames)) {
    node = child(node, python_place(frame, whole_functions));
  }
  return node;
}

std::uint32_t Profile::stack(std::uint32_t root,
                             const std::vector<ProfilePlace>& places) {
  std::uint32_t node = root;
  for (const ProfilePlace& place : places) {
    node = child(node, place);
  }
  return node;
}

ProfilePlace python_place(const PythonFrame& frame, bool whole_function) {
  return {.function = frame.qualname,
          .file = frame.file,
          .first_line = frame.first_line,
          .line = whole_function ? 0 : frame.line};
}

std::uint32_t Profile::add_thread(ProfiledThread thread) {
  threads_.push_back(std::move(thread));
  tallies_.emplace_back();
  last_run_.push_back(kNoRun);
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

std::string thread_label(const ProfiledThread& thread) {
  return thread.name.empty()
             ? fmt::format("thread {}", thread.tid)
             : fmt::format("thread {} ({})", thread.tid, thread.name);
}

void Profile::name_thread(std::uint32_t thread, const std::string& name) {
  threads_[thread].name = name;
}

void Profile::add(std::uint32_t thread,
                  std::uint32_t node,
                  std::uint64_t at,
                  std::uint64_t weight) {
  nodes_[node].own += weight;
  weight_ += weight;
  if (keeps_processes_) {
    of_process(thread, node) += weight;
  }
  if (!keeps_runs_) {
    return;
  }
  if (const std::size_t last = last_run_[thread]; last != kNoRun) {
    ProfileRun& run = runs_[last];
    if (run.node == node && run.first + run.length == at) {
      run.length += weight;
      return;
    }
  }
  if (runs_.size() >= kMostRuns) {
    ++dropped_;
    return;
  }
  last_run_[thread] = runs_.size();
  runs_.push_back({thread, node, at, weight});
}

void Profile::move(std::uint32_t thread,
                   std::uint32_t from,
                   std::uint32_t to,
                   std::uint64_t since,
                   std::uint64_t weight) {
  nodes_[from].own -= weight;
  nodes_[to].own += weight;
  if (keeps_processes_) {
    of_process(thread, from) -= weight;
    of_process(thread, to) += weight;
  }
  const std::size_t last = last_run_[thread];
  if (last == kNoRun || runs_[last].node != from) {
    return;
  }
  ProfileRun& run = runs_[last];
  const std::uint64_t end = run.first + run.length;
  if (run.first >= since) {
    run.node = to;
  } else if (end > since && runs_.size() < kMostRuns) {
    run.length = since - run.first;
    last_run_[thread] = runs_.size();
    runs_.push_back({thread, to, since, end - since});
  }
}

std::vector<std::uint32_t> Profile::path(std::uint32_t node) const {
  std::vector<std::uint32_t> path;
  for (; node != kRoot; node = nodes_[node].parent) {
    path.push_back(node);
  }
  std::ranges::reverse(path);
  return path;
}

// A node is made after its parent.
std::vector<std::uint64_t> Profile::totals() const {
  std::vector<std::uint64_t> totals(nodes_.size());
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    totals[i] += nodes_[i].own;
    if (i != kRoot) {
      totals[nodes_[i].parent] += totals[i];
    }
  }
  return totals;
}

std::uint64_t& Profile::of_process(std::uint32_t thread, std::uint32_t node) {
  return by_process_[std::uint64_t{node} << 32 |
                     static_cast<std::uint32_t>(threads_[thread].pid)];
}

std::vector<std::set<int>> Profile::processes() const {
  std::vector<std::set<int>> processes(nodes_.size());
  for (const auto& [key, weight] : by_process_) {
    if (weight > 0) {
      processes[key >> 32].insert(static_cast<int>(key & 0xffffffff));
    }
  }
  for (std::size_t i = nodes_.size(); i-- > 1;) {
    processes[nodes_[i].parent].insert(processes[i].begin(),
                                       processes[i].end());
  }
  return processes;
}

std::vector<std::vector<std::uint32_t>> Profile::children() const {
  std::vector<std::vector<std::uint32_t>> children(nodes_.size());
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    children[nodes_[i].parent].push_back(i);
  }
  return children;
}

std::vector<FunctionTime> function_times(const Profile& profile) {
  std::map<ProfilePlace, std::size_t> ids;
  std::vector<FunctionTime> times;
  std::vector<std::size_t> function_of;  // of each place
  for (ProfilePlace place : profile.places()) {
    place.line = 0;
    const auto [found, is_new] = ids.try_emplace(place, times.size());
    if (is_new) {
      times.push_back({.place = place});
    }
    function_of.push_back(found->second);
  }
  std::vector<std::uint32_t> met(times.size());  // by which node last
  for (std::uint32_t i = 1; i < profile.nodes().size(); ++i) {
    const ProfileNode& end = profile.nodes()[i];
    if (end.own == 0) {
      continue;
    }
    const bool waits =
        profile.places()[end.place].kind == ProfilePlace::Kind::Wait;
    const ProfileNode& owner = waits ? profile.nodes()[end.parent] : end;
    times[function_of[owner.place]].own += end.own;
    for (auto node = i; node != Profile::kRoot;
         node = profile.nodes()[node].parent) {
      const std::size_t function = function_of[profile.nodes()[node].place];
      if (std::exchange(met[function], i) != i) {
        times[function].total += end.own;
      }
    }
  }
  std::erase_if(times, [](const FunctionTime& time) {
    return time.place.kind != ProfilePlace::Kind::Frame || time.total == 0;
  });
  std::ranges::sort(times, [](const FunctionTime& a, const FunctionTime& b) {
    return std::pair(a.own, a.total) > std::pair(b.own, b.total);
  });
  return times;
}

std::vector<WaitTime> wait_times(const Profile& profile) {
  std::map<std::string, std::uint64_t> sums;
  for (const ProfileNode& node : profile.nodes()) {
    const ProfilePlace& place = profile.places()[node.place];
    if (place.kind == ProfilePlace::Kind::Wait && node.own > 0) {
      sums[place.function] += node.own;
    }
  }
  std::vector<WaitTime> times;
  for (auto& [reason, samples] : sums) {
    times.push_back({reason, samples});
  }
  std::ranges::stable_sort(times, std::greater(), &WaitTime::samples);
  return times;
}

}  // namespace hangdbg
