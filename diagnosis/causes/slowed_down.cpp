// A process that its cgroup throttles: of CPU time, which makes it slow and not
// hung; of memory, which may do either.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/sizes.h"
#include "diagnosis/causes/causes.h"
#include "inspector/host/host_context.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg::causes {
namespace {

constexpr double kMuch = 0.3;  // of the time

std::uint64_t limit_of(const CgroupMemory& memory) {
  return std::min(memory.max.value_or(~0ULL), memory.high.value_or(~0ULL));
}

std::string file_of(const CgroupMemory& memory) {
  return memory.folder + (!memory.unified ? "/memory.limit_in_bytes"
                          : memory.high   ? "/memory.high"
                                          : "/memory.max");
}

NextStep more_memory(const CgroupMemory& memory) {
  return {fmt::format("echo {} > {}", limit_of(memory) * 2, file_of(memory)),
          "lets it have twice as much"};
}

}  // namespace

// Version 1 without its OOM killer: an allocation blocks in the kernel. Version
// 2 above memory.high: it sleeps there for up to two seconds each time.
Found memory_limit(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (thread.wait.state != 'D') {
    return std::nullopt;
  }
  const CgroupState& group = of.system.around(of.pid).cgroup;
  if (!group.memory) {
    return std::nullopt;
  }
  const CgroupMemory& memory = *group.memory;
  const std::string in =
      read_proc_record(of.pid, fmt::format("task/{}/wchan", thread.id.tid))
          .value_or("");
  const bool held = in.find("mem_cgroup_handle_over_high") != in.npos;
  if (!memory.waits_for_memory && !held) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::MemoryLimit,
              .progress = held ? Progress::Blocked : Progress::Stuck,
              .confidence = Confidence::Certain,
              .next = {more_memory(memory)}};
  cause.summary =
      held ? fmt::format(
                 "wants more memory than the {} above which its cgroup "
                 "is slowed down",
                 human_size(limit_of(memory)))
           : fmt::format(
                 "waits for memory: its cgroup has all its {} in use, "
                 "and the OOM killer is off there",
                 human_size(limit_of(memory)));
  cause.evidence.push_back(
      fmt::format("{}: {} used, limit reached {} times", memory.folder,
                  human_size(memory.current), memory.reached));
  cause.evidence.push_back(
      held ? "in the kernel's " + in
           : "under_oom 1 and oom_kill_disable 1 in its memory.oom_control");
  return cause;
}

void refine_by_cpu_limit(const ProcessSnapshot& of,
                         const ThreadSnapshot&,
                         Cause& cause) {
  if (cause.progress != Progress::Running) {
    return;
  }
  const CgroupState& group = of.system.around(of.pid).cgroup;
  if (!group.throttling || group.throttling->share < kMuch) {
    return;
  }
  cause.id = CauseId::CpuThrottled;
  cause.summary +=
      fmt::format("; it is slow because its cgroup lets it have {:.2g} CPUs",
                  group.cpu->cpus.value_or(0));
  cause.evidence.push_back(fmt::format(
      "{}: throttled in {:.0f} % of the periods of the last {} ms, for {:.0f} "
      "s in all",
      group.cpu->folder, 100 * group.throttling->share,
      group.throttling->window.count(),
      std::chrono::duration<double>(group.cpu->throttled).count()));
  cause.next.push_back(
      {fmt::format("hangdbg host {}", of.pid), "what its cgroups let it have"});
}

void refine_by_memory_limit(const ProcessSnapshot& of,
                            const ThreadSnapshot&,
                            Cause& cause) {
  if (cause.progress != Progress::Running) {
    return;
  }
  const CgroupState& group = of.system.around(of.pid).cgroup;
  if (!group.memory || group.memory_reached == 0) {
    return;
  }
  const CgroupMemory& memory = *group.memory;
  cause.id = CauseId::MemoryThrottled;
  cause.summary += fmt::format(
      "; it is slow because its cgroup has all its {} of memory in use, and "
      "takes some from it for each that it wants",
      human_size(limit_of(memory)));
  cause.evidence.push_back(fmt::format(
      "{}: {} used; the limit was reached {} times while we looked",
      memory.folder, human_size(memory.current), group.memory_reached));
  cause.next.push_back(more_memory(memory));
}

}  // namespace hangdbg::causes
