// A thread of ours goes to CPUs of our choice for a moment: to do something
// there, or to see whether it gets to.
#pragma once

#include <sched.h>

#include <chrono>
#include <functional>
#include <optional>

namespace hangdbg {

// How a thread is scheduled (sched(7)).
struct SchedulingClass {
  int policy = SCHED_OTHER;
  int priority = 0;  // of SCHED_FIFO and SCHED_RR
};

enum class Visit {
  InTime,
  Late,        // called back, it has done its work where we may run
  Impossible,  // it could not be sent; perhaps it has done its work here
};

// Has `work` done by a thread of that class, or of ours, which waits on one of
// `cpus`. It is called back if it did not get to run within `patience`.
Visit visit_cpus(const cpu_set_t& cpus,
                 std::optional<SchedulingClass> as,
                 std::chrono::milliseconds patience,
                 const std::function<void()>& work);

}  // namespace hangdbg
