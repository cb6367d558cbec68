// Which of the target's threads to borrow: one that is surely not in the
// middle of something that our own calls need.
#pragma once

#include <span>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/arch/x86_64/stub_x86_64.h"
#include "injector/checks/preflight.h"
#include "inspector/native/native_stack.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {

struct Candidate {
  int tid;
  // Asleep in a call that may fail, or give less, after any stop (signal(7),
  // "Interruption of system calls and library functions by stop signals").
  bool minds_a_stop;
};

// Threads worth trying, best first: asleep in a call that the kernel restarts
// without a trace, with stack to spare; then running ones, of which many want
// to go back to such a call and have no CPU for it; last those that mind a
// stop. Never ours, never io_uring's workers.
// Errors: NoSuchProcess, NotPermitted.
Result<std::vector<Candidate>> candidate_threads(const AttachTarget& target);

// Whether the thread is now where it minds a stop, or nothing is known of it.
bool minds_a_stop(const AttachTarget& target, int tid);

// What can be known of a sleeping thread without stopping it: a no spares it
// the stop, and a yes leaves the unwinder with all that the stop will need, so
// that it is short. Threads that run are always worth the stop.
// Errors: as check_safe.
Status worth_stopping(const AttachTarget& target,
                      int tid,
                      NativeUnwinder& unwinder,
                      Deadline deadline,
                      std::uint64_t stack_needed = StubStack::kNeeded);

// Whether the stopped thread may be borrowed: its call, then a scan of its
// stack for anything dangerous, then - if that found something - an exact
// unwind. Errors: NoSafeThread with the reason.
Status check_safe(const AttachTarget& target,
                  const TracedThread& thread,
                  const Registers& registers,
                  NativeUnwinder& unwinder,
                  Deadline deadline,
                  std::uint64_t stack_needed = StubStack::kNeeded);

// Whether the thread waits for the answer of a seccomp supervisor. At a stop
// the kernel drops that question, and asks anew (seccomp_unotify(2)); what was
// done for the first one is done.
bool waits_for_supervisor(int pid, int tid);

// Whether the thread may be in that code, or return to it: it is out only if it
// is seen asleep outside of it, with no return address into it on its stack,
// such as callees and signal handlers have.
bool may_be_inside(const AttachTarget& target, int tid, AddressRange code);

}  // namespace hangdbg
