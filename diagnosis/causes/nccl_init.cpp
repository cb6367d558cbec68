// A call that makes or ends a communicator of NCCL: it polls until the other
// ranks have come.
#include <fmt/core.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/call_watch.h"
#include "diagnosis/waits/nccl_call.h"

namespace hangdbg::causes {

Found nccl_init(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto call = thread.python ? nccl_call(of, thread) : std::nullopt;
  if (!call) {
    return std::nullopt;
  }
  const CallWatch watch = watch_call(of, thread, call->entry);
  Cause cause{.id = CauseId::NcclInit,
              .evidence = {watch.told, "called at " + thread.place()}};
  if (watch.came_back) {
    cause.progress = Progress::Running;
    cause.summary = fmt::format("is in {}, and goes on", call->function);
    return cause;
  }
  say_watched(watch, cause);
  cause.summary = fmt::format(
      "waits in {} ({}) {}", call->function,
      printable(call->entry.native.module),
      call->begins ? "for the other ranks to come to their communicator"
                   : "for NCCL, which does not come to an end");
  cause.next.push_back(
      {"hangdbg diagnose --job auto", "all ranks at once, and who is odd"});
  cause.next.push_back(
      {fmt::format("hangdbg net {}", of.pid), "with whom it has connections"});
  return cause;
}

}  // namespace hangdbg::causes
