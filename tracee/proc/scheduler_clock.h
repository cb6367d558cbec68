// The scheduler's clock, on which a thread's last run is told.
//
// Each CPU has its own: it leaves out the time that a hypervisor took from that
// CPU, and that of interrupts (update_rq_clock_task in kernel/sched/core.c). On
// a busy virtual machine two of them were seen 1.7 s apart after three hours.
#pragma once

#include <optional>

namespace hangdbg {

double monotonic_s();

// When the thread ran last, on the clock of the CPU where it ran, in seconds.
// Empty where the kernel does not say (/proc/PID/task/TID/sched needs
// CONFIG_SCHED_DEBUG).
std::optional<double> last_ran_s(int pid, int tid);

// For how long at least that CPU's clock has been past `then_s`: what the
// hypervisor has taken meanwhile may not be counted. Only a thread that runs
// there knows the time, so one of ours goes there for a moment, 5 ms at most.
// Empty: it may not, or the CPU has no time for it, or `then_s` is yet to come.
std::optional<double> scheduler_since_s(int cpu, double then_s);

// What time it is on the clock of the CPU that this thread runs on: that of
// another may be seconds away from it.
std::optional<double> scheduler_now_here_s();

}  // namespace hangdbg
