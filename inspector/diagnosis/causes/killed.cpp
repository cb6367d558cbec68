// Who has been waited for, and is gone: whether the kernel has killed it for
// its memory.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "inspector/diagnosis/causes/causes.h"
#include "inspector/surroundings/surroundings.h"

namespace hangdbg::causes {
namespace {

// Causes in which a process has ended that was wanted.
constexpr std::array<std::string_view, 5> kEnded = {
    "data-loader-worker-dead", "task-lost", "lock-of-dead-process",
    "writer-gone", "rank-ended"};

}  // namespace

void explain_by_lack_of_memory(const Case& of,
                               const CaseThread&,
                               Cause& cause) {
  if (std::ranges::find(kEnded, cause.id) == kEnded.end()) {
    return;
  }
  const Surroundings& around = of.world.around(of.pid);
  const auto killed =
      std::ranges::find(around.kernel_events,
                        KernelEvent::Kind::KilledForMemory, &KernelEvent::kind);
  if (killed != around.kernel_events.end()) {
    cause.sentence += fmt::format(
        "; the kernel has killed process {} ({}), as there was no memory left",
        killed->pid, killed->name);
    cause.evidence.push_back("the kernel's log: " + killed->text);
  } else if (around.cgroup.memory && around.cgroup.memory->oom_kills > 0) {
    cause.sentence +=
        "; the kernel has killed in its cgroup, as there was no memory left";
  } else {
    return;
  }
  if (around.cgroup.memory) {
    cause.evidence.push_back(fmt::format(
        "{}: {} killed for its limit of memory", around.cgroup.memory->folder,
        around.cgroup.memory->oom_kills));
  }
  cause.next.push_back({fmt::format("hangdbg around {}", of.pid),
                        "how much memory its cgroup has"});
}

}  // namespace hangdbg::causes
