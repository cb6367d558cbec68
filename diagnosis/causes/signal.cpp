// A thread that waits for a signal: signal.pause(), sigwait() and their like,
// select() of nothing.
#include <fmt/core.h>

#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/sleep_loop.h"

namespace hangdbg::causes {

Found signal(const ProcessSnapshot&, const ThreadSnapshot& thread) {
  if (!thread.sleeps_in("pause") && !thread.sleeps_in("rt_sigtimedwait") &&
      !thread.sleeps_in("rt_sigsuspend") &&
      !is_sleep_for_ever(thread.wait.call)) {
    return std::nullopt;
  }
  return Cause{.id = CauseId::Idle,
               .progress = Progress::Idle,
               .confidence = Confidence::Certain,
               .summary = "waits for a signal",
               .evidence = {fmt::format("{} at {}", thread.wait.syscall,
                                        thread.place())}};
}

}  // namespace hangdbg::causes
