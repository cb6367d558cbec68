#include "injector/checks/room.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/sizes.h"
#include "tracee/host/cgroup_limits.h"

namespace hangdbg {
namespace {

// An attach touches 0.3 to 1 MiB; on 3.14t, where the agent may go in as text,
// 3.8 (docs/injection.md, "What stays behind").
constexpr std::uint64_t kMemory = 6 << 20;
// A thread's stack, mostly untouched, and what its first allocations map.
constexpr std::uint64_t kAddressSpace = 16 << 20;
// The region takes two, a thread two, its heap two, each buffer one; the
// program's next threads take some as well.
constexpr std::size_t kMappings = 32;
// Ours are two, and a third that cancels; the program may want one too.
constexpr std::uint64_t kThreads = 4;
// Six while a client comes; what is left is the program's.
constexpr std::uint64_t kDescriptors = 6 + 16;

std::unexpected<Error> no_room(int pid,
                               const std::string& what,
                               const std::string& hint) {
  return fail(
      ErrorId::NoRoom,
      fmt::format("process {} has no room for an attach: {}", pid, what), hint);
}

std::uint64_t limit_of(int pid, __rlimit_resource resource) {
  rlimit limit{};
  return ::prlimit(pid, resource, nullptr, &limit) == 0 ? limit.rlim_cur
                                                        : RLIM_INFINITY;
}

Status check_limit(int pid,
                   __rlimit_resource resource,
                   const char* name,
                   std::uint64_t used) {
  const std::uint64_t most = limit_of(pid, resource);
  if (most == RLIM_INFINITY || used + kAddressSpace <= most) {
    return {};
  }
  return no_room(
      pid,
      fmt::format("{} of the {} of address space that its limit ({}) allows "
                  "are in use",
                  human_size(used), human_size(most), name),
      fmt::format("prlimit --pid {} --{}={}:, then again", pid, name,
                  most + 4 * kAddressSpace));
}

// From Linux 6.2 on its size says how many are open; before, it is 0.
std::optional<std::uint64_t> open_descriptors(int pid) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  struct stat seen {};
  if (::stat(folder.c_str(), &seen) == 0 && seen.st_size > 0) {
    return static_cast<std::uint64_t>(seen.st_size);
  }
  std::error_code failed;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator at(folder, failed), end;
       !failed && at != end; at.increment(failed)) {
    ++count;
  }
  return failed ? std::nullopt : std::optional(count);
}

Status check_descriptors(int pid, const ProcStatus& status) {
  const std::uint64_t most = limit_of(pid, RLIMIT_NOFILE);
  if (static_cast<std::uint64_t>(status.descriptor_slots) + kDescriptors <=
      most) {
    return {};
  }
  const auto open = open_descriptors(pid);
  if (!open || *open + kDescriptors <= most) {
    return {};
  }
  return no_room(
      pid,
      fmt::format("{} of its {} descriptors are open, and {} are to be free",
                  *open, most, kDescriptors),
      fmt::format("prlimit --pid {} --nofile={}:, then again", pid, most + 64));
}

Status check_mappings(int pid, const std::vector<Mapping>& maps) {
  std::size_t most = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> most) ||
      maps.size() + kMappings <= most) {
    return {};
  }
  return no_room(
      pid,
      fmt::format("it has {} of the {} mappings that vm.max_map_count allows",
                  maps.size(), most),
      fmt::format("sysctl vm.max_map_count={}, then again", 2 * most));
}

Status check_cgroups(int pid) {
  const auto groups = Cgroups::read(pid);
  if (!groups) {
    return {};
  }
  const auto memory = read_cgroup_memory_room(*groups);
  if (memory && memory->bytes < kMemory) {
    return no_room(
        pid,
        fmt::format("its cgroup ({}) may use only {} more memory, "
                    "and would be {} beyond that",
                    memory->folder, human_size(memory->bytes),
                    memory->kills ? "killed" : "slowed down (memory.high)"),
        fmt::format("hangdbg dump {} and hangdbg peek {} take "
                    "nothing of it",
                    pid, pid));
  }
  const auto threads = read_cgroup_pids(*groups);
  if (threads && threads->max && threads->current + kThreads > *threads->max) {
    return no_room(
        pid,
        fmt::format("its cgroup ({}) has {} of the {} threads that "
                    "it may have",
                    threads->folder, threads->current, *threads->max),
        fmt::format("echo {} > {}/pids.max, then again", *threads->max + 8,
                    threads->folder));
  }
  return {};
}

}  // namespace

Status check_room(int pid,
                  const ProcStatus& status,
                  const std::vector<Mapping>& maps) {
  TRY(check_descriptors(pid, status));
  TRY(check_limit(pid, RLIMIT_AS, "as", status.address_space));
  TRY(check_limit(pid, RLIMIT_DATA, "data", status.data));
  TRY(check_mappings(pid, maps));
  return check_cgroups(pid);
}

}  // namespace hangdbg
