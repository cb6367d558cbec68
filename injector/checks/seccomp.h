// What the target's seccomp filter leaves to us, and how that can be known:
//
//   there is none         everything is allowed
//   we may read it        its answers are computed
//   (tracee/ptrace/seccomp_filter.h);
//                         for root without a filter of its own, and the thread
//                         has to be stopped for it
//   ours is the same one  in one container; then a child of ours tries
//   neither               nothing is known, and the target is left alone
//
// Threads may have different filters, and a new thread has that of the thread
// that made it; so this is checked of the thread that is to be borrowed.
#pragma once

#include <optional>

#include "base/result.h"
#include "injector/checks/danger.h"
#include "injector/checks/target_calls.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {

// What is known with nothing stopped; nothing if the filter must be read first.
// Errors: SeccompUnknown, SeccompForbids.
Result<std::optional<AllowedCalls>> calls_known_unread(
    int pid,
    int tid,
    CallMakers makers,
    CallsFor what = CallsFor::OwnThreads);

// The stopped thread's filter, read. Where it forbids restart_syscall and the
// thread's call would need that, the call is made anew instead, and the thread
// is refused. Errors: SeccompForbids, SeccompUnknown.
Result<AllowedCalls> read_allowed_calls(int pid,
                                        TracedThread& thread,
                                        CallMakers makers,
                                        CallsFor what = CallsFor::OwnThreads);

// How many filters the thread has; where the kernel does not say, 1 for all.
int count_filters(int pid, int tid);

// By the library that pthread_create is in.
Libc libc_of(const DangerousCode& danger, const std::vector<Module>& modules);

}  // namespace hangdbg
