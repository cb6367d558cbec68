// A thread that sleeps for a time, once or again and again.
#include <fmt/core.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"

namespace hangdbg::causes {

// Before 3.11 time.sleep selects from no descriptors.
Found sleep(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  const bool sleeps =
      call.number == SYS_nanosleep || call.number == SYS_clock_nanosleep ||
      ((call.number == SYS_select || call.number == SYS_pselect6) &&
       call.args[0] == 0) ||
      (call.number == SYS_poll && call.args[1] == 0);
  if (call.running || !sleeps) {
    return std::nullopt;
  }
  const bool polls = thread.ran && thread.places.size() == 1;
  Cause cause{.id = polls ? CauseId::Polls : CauseId::Sleeps,
              .progress = polls ? Progress::Polling : Progress::Idle,
              .confidence = polls ? Confidence::Possible : Confidence::Certain};
  cause.summary = polls ? fmt::format(
                              "comes back to {} again and again, and "
                              "sleeps between",
                              thread.place())
                        : "sleeps, for a time that it has chosen";
  cause.evidence.push_back(
      polls ? fmt::format("same line in {} of {} looks, cpu {:.0f} %",
                          thread.looks, thread.looks, thread.cpu_percent)
            : thread.place());
  if (polls) {
    cause.next.push_back({fmt::format("hangdbg dump {} --locals=2", of.pid),
                          "what it looks for"});
  }
  return cause;
}

}  // namespace hangdbg::causes
