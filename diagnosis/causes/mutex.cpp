// A mutex of the C library and its owner, which may be a thread that exists
// only in the parent; other waits in C code for a thread that is not here.
#include <fmt/core.h>
#include <linux/futex.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_mutex.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
Found mutex(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto mutex = awaited_mutex(of, thread);
  if (!mutex) {
    return std::nullopt;
  }
  const auto owner = mutex->tid;
  Cause cause{.id = CauseId::Mutex,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(
      fmt::format("pthread_mutex_lock on the mutex at {:#x}, owner {}, at {}",
                  mutex->address.value, mutex->owner, thread.place()));
  for (const std::string& function : of.native(thread)) {
    cause.evidence.push_back("in " + function);
    if (cause.evidence.size() == 4) {
      break;
    }
  }
  if (owner) {
    const ThreadSnapshot* const holder = of.thread(*owner);
    cause.blocked_by.push_back({of.pid, *owner});
    cause.blocks_others = true;
    cause.summary =
        fmt::format("waits for a mutex of C code, held by {}",
                    *owner == thread.id.tid ? "it itself"
                    : holder != nullptr     ? holder->who()
                                            : fmt::format("thread {}", *owner));
    if (of.makes_progress(thread)) {
      cause.progress = Progress::Running;
      cause.evidence.push_back(
          "it has had the mutex meanwhile: they take turns");
    }
    cause.next.push_back({fmt::format("hangdbg locks {}", of.pid),
                          "owners and waiters of each lock"});
    return cause;
  }
  cause.progress = Progress::Stuck;
  const int parent = of.status.ppid;
  if (of.forked_from(parent)) {
    cause.id = CauseId::ForkLock;
    const auto outer = owner_in_parent(of, *mutex);
    cause.summary = fmt::format(
        "waits for a mutex of C code that thread {} of {} had when it forked "
        "this process: nobody here can release it",
        mutex->owner, process_text(parent));
    cause.evidence.push_back(
        outer ? fmt::format("thread {} lives in {}, and not here", *outer,
                            process_text(parent))
              : fmt::format("forked from {}; no thread {} is here",
                            process_text(parent), mutex->owner));
    cause.next.push_back(
        {fmt::format("kill {}", of.pid),
         "nothing can free it; use the start method \"spawn\" or fork before "
         "threads start"});
    return cause;
  }
  cause.id = CauseId::LockOfEndedThread;
  cause.summary = fmt::format(
      "waits for a mutex of C code whose owner, thread {}, has ended",
      mutex->owner);
  return cause;
}

// Source: futex(2). A private futex is of this process alone.
Found private_futex(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() || !thread.python || !thread.sleeps_in("futex") ||
      (thread.wait.call.args[1] & FUTEX_PRIVATE_FLAG) == 0 ||
      thread.has_timeout() || thread.ran || of.threads.size() > 1 ||
      of.handles_signals()) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::NobodyLeft,
              .progress = Progress::Stuck,
              .confidence = Confidence::Likely,
              .summary =
                  "waits for another thread, and no other "
                  "thread is here that could end that",
              .evidence = {thread.place()}};
  constexpr std::size_t kMost = 4;
  for (const std::string& function : of.native(thread)) {
    if (cause.evidence.size() < kMost) {
      cause.evidence.push_back("in " + function);
    }
  }
  if (of.forked_from(of.status.ppid)) {
    cause.evidence.push_back(
        fmt::format("forked from {}, without that one's other threads",
                    process_text(of.status.ppid)));
  }
  return cause;
}

}  // namespace hangdbg::causes
