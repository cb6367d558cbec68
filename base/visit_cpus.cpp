#include "base/visit_cpus.h"

#include <unistd.h>

#include <atomic>
#include <future>

#include "base/spawn_up_to.h"

namespace hangdbg {

// It is sent when it waits already: on its way it would look elsewhere.
Visit visit_cpus(const cpu_set_t& cpus,
                 std::optional<SchedulingClass> as,
                 std::chrono::milliseconds patience,
                 const std::function<void()>& work) {
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof before, &before) != 0) {
    return Visit::Impossible;
  }
  std::atomic<int> tid = 0;
  std::atomic<bool> may_work = false;
  std::promise<void> done;
  const auto is_done = done.get_future();
  auto there = spawn_up_to(1, [&] {
    tid = ::gettid();
    tid.notify_one();
    may_work.wait(false);
    work();
    done.set_value();
  });
  if (there.empty()) {
    return Visit::Impossible;
  }
  tid.wait(0);
  sched_param wanted{};
  wanted.sched_priority = as ? as->priority : 0;
  const bool sent =
      (!as || ::sched_setscheduler(tid, as->policy, &wanted) == 0) &&
      ::sched_setaffinity(tid, sizeof cpus, &cpus) == 0;
  may_work = true;
  may_work.notify_one();
  const bool in_time = is_done.wait_for(patience) == std::future_status::ready;
  if (!in_time) {
    ::sched_setaffinity(tid, sizeof before, &before);
  }
  there.front().join();
  return !sent ? Visit::Impossible : in_time ? Visit::InTime : Visit::Late;
}

}  // namespace hangdbg
