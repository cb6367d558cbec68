// What the cgroups of a process let it have, how much of that is used, and how
// often that was not enough.
//
// A limit of a group holds for all below it: told is that which is nearest to
// being reached, from the process's own group up.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tracee/host/cgroups.h"

namespace hangdbg {

struct CgroupMemory {
  std::string folder;  // of the group whose limit it is
  bool unified = false;
  std::uint64_t current = 0;          // bytes
  std::uint64_t inactive_files = 0;   // of those: reclaimed where there is need
  std::optional<std::uint64_t> max;   // none: no limit
  std::optional<std::uint64_t> high;  // above it the kernel slows it down; v2
  std::uint64_t reached = 0;          // so often the limit was reached
  std::uint64_t oom_kills = 0;        // in the process's own group
  bool waits_for_memory = false;      // version 1 without its OOM killer

  // The part of the limit that is used and cannot simply be reclaimed.
  double used() const;
};

struct CgroupCpu {
  std::string folder;
  std::optional<double> cpus;  // that it may use; none: no limit
  std::uint64_t periods = 0;   // in which it ran, since the group was made
  std::uint64_t throttled_periods = 0;  // in which it was kept from running
  std::chrono::microseconds throttled{};
};

struct CgroupPids {
  std::string folder;
  std::uint64_t current = 0;  // threads
  std::optional<std::uint64_t> max;
  std::uint64_t refused = 0;  // forks and new threads, for that limit
};

// None where the kernel, or a container, has no such controller.
std::optional<CgroupMemory> read_cgroup_memory(const Cgroups& groups);
std::optional<CgroupCpu> read_cgroup_cpu(const Cgroups& groups);
std::optional<CgroupPids> read_cgroup_pids(const Cgroups& groups);

// How many bytes more a process may use before the kernel's OOM killer comes,
// or slows it down: in the group, of its own and those around it, where it is
// least. Files that are only cached count as free. None: no limit, or it cannot
// be known.
struct CgroupMemoryRoom {
  std::string folder;
  std::uint64_t bytes = 0;
  bool kills = true;  // else it slows down: memory.high
};
std::optional<CgroupMemoryRoom> read_cgroup_memory_room(const Cgroups& groups);

// How much it was kept from running between two looks at a group.
struct Throttling {
  std::chrono::milliseconds window{};
  double share = 0;  // of the periods in which it ran, 0 to 1
};
Throttling throttling_between(const CgroupCpu& before,
                              const CgroupCpu& after,
                              std::chrono::milliseconds window);

}  // namespace hangdbg
