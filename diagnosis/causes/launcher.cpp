// The launcher of a job's ranks: torchrun's agent and mp.spawn, which watch
// them; and the agent while it waits for those of other machines.
#include <fmt/core.h>

#include "diagnosis/causes/causes.h"
#include "inspector/cpython/stacks/target.h"

namespace hangdbg::causes {
namespace {

// Nodes start one after the other, and some only when there is room for them.
constexpr double kLauncherPatience = 6;

std::optional<double> age_of(const ProcessSnapshot& of) {
  const PythonProcess* const process = of.whole();
  return process != nullptr ? LiveTarget(*process).age_s() : std::nullopt;
}

Cause rendezvous(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  Cause cause{.id = CauseId::Rendezvous,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely,
              .waited_s = age_of(of),
              .timeout_scale = kLauncherPatience};
  const PythonFrame* const elastic =
      thread.find("next_rendezvous", "/rendezvous/dynamic_rendezvous.py");
  const PythonFrame* const fixed =
      thread.find("_assign_worker_ranks", "/elastic/agent/server/api.py");
  const auto nodes = elastic != nullptr
                         ? of.number(*elastic, "self._settings.min_nodes")
                     : fixed != nullptr ? of.number(*fixed, "group_world_size")
                                        : std::nullopt;
  cause.summary =
      fmt::format("waits at the rendezvous until the launchers of {} are there",
                  nodes ? fmt::format("{} nodes", *nodes) : "all nodes");
  cause.evidence.push_back(thread.place());
  cause.next.push_back(
      {"hangdbg ps", "on the other nodes: whether a torchrun is there at all"});
  return cause;
}

}  // namespace

Found launcher(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() || thread.wait.state == 'R') {
    return std::nullopt;
  }
  if (thread.find("_rendezvous", "/elastic/agent/server/api.py") != nullptr) {
    return rendezvous(of, thread);
  }
  const PythonFrame* loop =
      thread.find("_invoke_run", "/elastic/agent/server/api.py", 1);
  if (loop == nullptr) {
    loop = thread.find("join", "/torch/multiprocessing/spawn.py", 4);
  }
  if (loop == nullptr) {
    return std::nullopt;
  }
  return Cause{.id = CauseId::Launcher,
               .progress = Progress::Idle,
               .confidence = Confidence::Certain,
               .summary = "waits for the end of the ranks that it has started",
               .evidence = {place_of(*loop)}};
}

}  // namespace hangdbg::causes
