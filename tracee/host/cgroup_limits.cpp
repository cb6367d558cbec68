#include "tracee/host/cgroup_limits.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

// Version 1 has no word for "no limit": a number next to what fits.
constexpr std::uint64_t kNoLimit = 1ULL << 60;

// "max" is none.
std::optional<std::uint64_t> number_in(const std::string& folder,
                                       std::string_view file) {
  const auto text = read_cgroup_file(folder, file);
  const auto number = text ? parse_number<std::uint64_t>(*text) : std::nullopt;
  return number && *number < kNoLimit ? number : std::nullopt;
}

// "nr_throttled 12", a line each.
std::optional<std::uint64_t> entry_in(const std::string& folder,
                                      std::string_view file,
                                      std::string_view key) {
  const auto text = read_cgroup_file(folder, file);
  for (const std::string_view line :
       split(text ? std::string_view(*text) : "", '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == key) {
      return parse_number<std::uint64_t>(words[1]);
    }
  }
  return {};
}

std::optional<CgroupMemory> memory_of(const std::string& folder, bool unified) {
  CgroupMemory memory{.folder = folder, .unified = unified};
  const auto current =
      number_in(folder, unified ? "memory.current" : "memory.usage_in_bytes");
  if (!current) {
    return {};
  }
  memory.current = *current;
  memory.max =
      number_in(folder, unified ? "memory.max" : "memory.limit_in_bytes");
  memory.inactive_files =
      entry_in(folder, "memory.stat",
               unified ? "inactive_file" : "total_inactive_file")
          .value_or(0);
  if (unified) {
    memory.high = number_in(folder, "memory.high");
    memory.reached = entry_in(folder, "memory.events", "max").value_or(0) +
                     entry_in(folder, "memory.events", "high").value_or(0);
  } else {
    memory.reached = number_in(folder, "memory.failcnt").value_or(0);
    memory.waits_for_memory =
        entry_in(folder, "memory.oom_control", "under_oom") == 1 &&
        entry_in(folder, "memory.oom_control", "oom_kill_disable") == 1;
  }
  return memory;
}

std::optional<CgroupCpu> cpu_of(const std::string& folder, bool unified) {
  CgroupCpu cpu{.folder = folder};
  if (unified) {
    const auto max = read_cgroup_file(folder, "cpu.max");  // "max 100000"
    const auto words = split_words(max ? std::string_view(*max) : "");
    if (words.size() != 2) {
      return {};
    }
    const auto quota = parse_number<std::uint64_t>(words[0]);
    const auto period = parse_number<std::uint64_t>(words[1]);
    if (quota && period && *period > 0) {
      cpu.cpus = static_cast<double>(*quota) / static_cast<double>(*period);
    }
  } else {
    const auto quota = read_cgroup_file(folder, "cpu.cfs_quota_us");  // -1
    const auto period = number_in(folder, "cpu.cfs_period_us");
    if (!quota) {
      return {};
    }
    const auto us = parse_number<long long>(*quota);
    if (us && *us > 0 && period && *period > 0) {
      cpu.cpus = static_cast<double>(*us) / static_cast<double>(*period);
    }
  }
  cpu.periods = entry_in(folder, "cpu.stat", "nr_periods").value_or(0);
  cpu.throttled_periods =
      entry_in(folder, "cpu.stat", "nr_throttled").value_or(0);
  const auto us = entry_in(folder, "cpu.stat", "throttled_usec");
  const auto ns = entry_in(folder, "cpu.stat", "throttled_time");
  cpu.throttled = std::chrono::microseconds(us ? *us : ns.value_or(0) / 1000);
  return cpu;
}

std::optional<CgroupPids> pids_of(const std::string& folder) {
  const auto current = number_in(folder, "pids.current");
  if (!current) {
    return {};
  }
  return CgroupPids{
      .folder = folder,
      .current = *current,
      .max = number_in(folder, "pids.max"),
      .refused = entry_in(folder, "pids.events", "max").value_or(0)};
}

}  // namespace

double CgroupMemory::used() const {
  const auto limit = std::min(max.value_or(kNoLimit), high.value_or(kNoLimit));
  if (limit == kNoLimit) {
    return 0;
  }
  const auto kept = current - std::min(current, inactive_files);
  return static_cast<double>(kept) /
         static_cast<double>(std::max<std::uint64_t>(limit, 1));
}

// memory.stat is dear, and read only where what is cached decides.
std::optional<CgroupMemoryRoom> read_cgroup_memory_room(const Cgroups& groups) {
  constexpr std::uint64_t kPlenty = 64 << 20;
  const Cgroup* const group = groups.find("memory");
  std::optional<CgroupMemoryRoom> least;
  for (const std::string& folder :
       group != nullptr ? group->folders() : std::vector<std::string>()) {
    const bool v2 = group->unified;
    const auto max =
        number_in(folder, v2 ? "memory.max" : "memory.limit_in_bytes");
    const auto high = v2 ? number_in(folder, "memory.high") : std::nullopt;
    const auto current =
        max || high
            ? number_in(folder, v2 ? "memory.current" : "memory.usage_in_bytes")
            : std::nullopt;
    if (!current) {
      continue;
    }
    const std::uint64_t kills_at = max.value_or(kNoLimit);
    const std::uint64_t slows_at = high.value_or(kNoLimit);
    const std::uint64_t limit = std::min(kills_at, slows_at);
    std::uint64_t room = limit - std::min(limit, *current);
    for (const char* cached : {"inactive_file", "active_file"}) {
      if (room < kPlenty) {
        room += entry_in(folder, "memory.stat",
                         v2 ? cached : std::string("total_") + cached)
                    .value_or(0);
      }
    }
    if (!least || room < least->bytes) {
      least = CgroupMemoryRoom{folder, room, kills_at <= slows_at};
    }
  }
  return least;
}

// A group's root has no files of that kind in version 2.
std::optional<CgroupMemory> read_cgroup_memory(const Cgroups& groups) {
  const Cgroup* const group = groups.find("memory");
  std::optional<CgroupMemory> nearest;
  const auto nearness = [](const CgroupMemory& memory) {
    return std::pair(memory.max || memory.high, memory.used());
  };
  for (const std::string& folder :
       group != nullptr ? group->folders() : std::vector<std::string>()) {
    auto memory = memory_of(folder, group->unified);
    if (memory && (!nearest || nearness(*memory) > nearness(*nearest))) {
      nearest = std::move(memory);
    }
  }
  if (nearest) {
    nearest->oom_kills =
        entry_in(group->folder,
                 group->unified ? "memory.events" : "memory.oom_control",
                 "oom_kill")
            .value_or(0);
  }
  return nearest;
}

std::optional<CgroupCpu> read_cgroup_cpu(const Cgroups& groups) {
  const Cgroup* const group = groups.find("cpu");
  std::optional<CgroupCpu> least;
  for (const std::string& folder :
       group != nullptr ? group->folders() : std::vector<std::string>()) {
    auto cpu = cpu_of(folder, group->unified);
    if (cpu &&
        (!least || cpu->cpus.value_or(1e9) < least->cpus.value_or(1e9))) {
      least = std::move(cpu);
    }
  }
  return least;
}

std::optional<CgroupPids> read_cgroup_pids(const Cgroups& groups) {
  const Cgroup* const group = groups.find("pids");
  std::optional<CgroupPids> nearest;
  const auto room = [](const CgroupPids& pids) {
    return pids.max.value_or(kNoLimit) - std::min(pids.current, kNoLimit);
  };
  for (const std::string& folder :
       group != nullptr ? group->folders() : std::vector<std::string>()) {
    auto pids = pids_of(folder);
    if (pids && (!nearest || room(*pids) < room(*nearest))) {
      nearest = std::move(pids);
    }
  }
  return nearest;
}

Throttling throttling_between(const CgroupCpu& before,
                              const CgroupCpu& after,
                              std::chrono::milliseconds window) {
  const auto periods = after.periods - std::min(before.periods, after.periods);
  const auto throttled =
      after.throttled_periods -
      std::min(before.throttled_periods, after.throttled_periods);
  return {window, periods == 0 ? 0
                               : static_cast<double>(throttled) /
                                     static_cast<double>(periods)};
}

}  // namespace hangdbg
