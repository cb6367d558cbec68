#include "client/views/record/reason_finder.h"

#include <chrono>
#include <set>
#include <thread>

#include "base/deadline.h"
#include "client/views/evidence/wait_text.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr auto kReasonsPause = std::chrono::milliseconds(10);
constexpr int kReasonsShare = 20;
constexpr auto kReasonsAgain = std::chrono::seconds(1);
// The end of the recording waits for longer (running.cpp).
constexpr auto kReasonsLook = std::chrono::seconds(1);

// False: it has ended.
bool find_reasons_of(int pid, WaitReasons& reasons) {
  const auto seen = see_threads_at_once(pid, Deadline::in(kReasonsLook));
  if (!seen) {
    return seen.error().id != ErrorId::NoSuchProcess;
  }
  for (const SeenThread& thread : seen->threads) {
    const int tid = thread.id.tid;
    const auto after = read_task_runs(pid, tid);
    if (thread.python && thread.state != 'R' && after &&
        *after == thread.runs) {
      reasons.tell(tid, thread.runs, wait_reason(thread, seen->unseen_pipes));
    } else {
      reasons.forget(tid);
    }
  }
  return true;
}

}  // namespace

void find_reasons(WaitReasons& reasons, const std::atomic<bool>& enough) {
  std::set<int> known;
  Deadline all_again = Deadline::in(kReasonsAgain);
  Deadline next = Deadline::in({});
  while (!enough) {
    std::set<int> wanted;
    if (next.expired()) {
      wanted = reasons.take_wanted();
      known.insert(wanted.begin(), wanted.end());
      if (all_again.expired()) {
        wanted = known;
        all_again = Deadline::in(kReasonsAgain);
      }
    }
    const auto began = Deadline::Clock::now();
    for (const int pid : wanted) {
      if (!enough && !find_reasons_of(pid, reasons)) {
        known.erase(pid);
      }
    }
    if (!wanted.empty()) {
      next = Deadline::in((Deadline::Clock::now() - began) * kReasonsShare);
    }
    std::this_thread::sleep_for(kReasonsPause);
  }
}

}  // namespace hangdbg
