// A process that waits for the end of a child.
#include <fmt/core.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {

Found child(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  if (call.running || (call.number != SYS_wait4 && call.number != SYS_waitid)) {
    return std::nullopt;
  }
  const auto argument = call.args[call.number == SYS_wait4 ? 0 : 1];
  const int wanted = static_cast<int>(argument);
  Cause cause{.id = CauseId::Child,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  const auto [begin, end] = of.world.children().equal_range(of.pid);
  for (auto at = begin; at != end; ++at) {
    if (wanted <= 0 || wanted == at->second) {
      cause.blocked_by.push_back({at->second, at->second});
    }
  }
  cause.evidence.push_back(thread.place());
  if (cause.blocked_by.empty()) {
    cause.summary = wanted > 0
                        ? fmt::format(
                              "waits for the end of process {}, which "
                              "cannot be seen from here",
                              wanted)
                        : "waits for the end of a child, and has none that "
                          "can be seen from here";
    return cause;
  }
  const int first = cause.blocked_by.front().pid;
  cause.summary =
      cause.blocked_by.size() == 1
          ? fmt::format("waits for the end of its child, {}",
                        process_text(first))
          : fmt::format("waits for the end of one of its {} children",
                        cause.blocked_by.size());
  cause.next.push_back(
      {fmt::format("hangdbg diagnose {}", first), "why that one does not end"});
  cause.next.push_back(
      {fmt::format("hangdbg tree {}", of.pid), "its children, and theirs"});
  return cause;
}

}  // namespace hangdbg::causes
