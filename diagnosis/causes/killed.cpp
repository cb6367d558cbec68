// The awaited process has ended: whether the kernel has killed it for its
// memory.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/causes/causes.h"
#include "inspector/host/host_context.h"
#include "tracee/host/kernel_log.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/signals.h"

namespace hangdbg::causes {
namespace {

// Causes in which an awaited process has ended.
constexpr std::array<CauseId, 5> kEnded = {
    CauseId::DataLoaderWorkerDead, CauseId::TaskLost,
    CauseId::LockOfDeadProcess, CauseId::WriterGone, CauseId::RankEnded};

void add_killed(const KernelEvent& killed, Cause& cause) {
  cause.summary += fmt::format(
      "; the kernel has killed process {} ({}), as there was no memory left",
      killed.pid, killed.name);
  cause.evidence.push_back("the kernel's log: " + killed.text);
}

// Whether the kernel has killed a process in that process's cgroup.
void look_around(SystemSnapshot& system, int pid, Cause& cause) {
  const HostContext& around = system.around(pid);
  const auto killed =
      std::ranges::find(around.kernel_events,
                        KernelEvent::Kind::KilledForMemory, &KernelEvent::kind);
  if (killed != around.kernel_events.end()) {
    add_killed(*killed, cause);
  } else if (around.cgroup.memory && around.cgroup.memory->oom_kills > 0) {
    cause.summary +=
        "; the kernel has killed in its cgroup, as there was no memory left";
  } else {
    return;
  }
  if (around.cgroup.memory) {
    cause.evidence.push_back(fmt::format(
        "{}: {} killed for its limit of memory", around.cgroup.memory->folder,
        around.cgroup.memory->oom_kills));
  }
  cause.next.push_back(
      {fmt::format("hangdbg host {}", pid), "how much memory its cgroup has"});
}

}  // namespace

void refine_by_lack_of_memory(const ProcessSnapshot& of,
                              const ThreadSnapshot&,
                              Cause& cause) {
  if (std::ranges::find(kEnded, cause.id) != kEnded.end()) {
    look_around(of.system, of.pid, cause);
  }
}

// The rank may have had a cgroup of its own: its PID is looked up in the log
// first. A process in a container has other PIDs than the log.
void explain_ended_rank(SystemSnapshot& system,
                        const std::vector<int>& ended,
                        int beside,
                        Cause& cause) {
  constexpr std::size_t kMost = 8;
  std::map<int, double> killed;  // when each was started, s since the boot
  for (const int pid : ended) {
    const auto stat = read_task_stat(pid, pid);
    const int exit_code = stat ? stat->exit_code : 0;
    if (exit_code != 0 && cause.evidence.size() < kMost) {
      cause.evidence.push_back(
          fmt::format("process {} has ended: {}", pid, end_text(exit_code)));
    }
    if (WIFSIGNALED(exit_code) && WTERMSIG(exit_code) == SIGKILL) {
      killed[pid] = static_cast<double>(stat->start_ticks) /
                    static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
  }
  if (killed.empty() && !ended.empty()) {
    return;
  }
  const auto events = read_kernel_events().value_or(std::vector<KernelEvent>());
  const auto own = std::ranges::find_if(
      events.rbegin(), events.rend(), [&](const KernelEvent& event) {
        const auto one = killed.find(event.pid);
        return event.kind == KernelEvent::Kind::KilledForMemory &&
               one != killed.end() && event.at_s >= one->second;
      });
  if (own != events.rend()) {
    add_killed(*own, cause);
  } else {
    look_around(system, beside, cause);
  }
}

}  // namespace hangdbg::causes
