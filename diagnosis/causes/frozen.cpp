// A process whose cgroup is frozen: nothing in it runs until somebody thaws it.
#include <fmt/core.h>

#include "diagnosis/causes/causes.h"
#include "inspector/host/host_context.h"

namespace hangdbg::causes {

Found frozen(const ProcessSnapshot& of, const ThreadSnapshot&) {
  const auto& frozen = of.world.around(of.pid).cgroup.frozen;
  if (!frozen) {
    return std::nullopt;
  }
  return Cause{
      .id = CauseId::Frozen,
      .progress = Progress::Stuck,
      .confidence = Confidence::Certain,
      .summary = fmt::format("is frozen with its cgroup {}", frozen->path),
      .evidence = {"the kernel says so of that cgroup: a checkpoint, `docker "
                   "pause` or a batch system has frozen it"},
      .next = {{frozen->command, "it goes on"}}};
}

}  // namespace hangdbg::causes
