// A lock of multiprocessing, which several processes share: its holder, or that
// no live process holds it.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_shared_lock.h"
#include "diagnosis/waits/library_waits.h"
#include "diagnosis/waits/waits_inside.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// The holder is another thread of this process, or this thread itself.
void tell_own(const ThreadSnapshot& thread,
              const AwaitedSharedLock& lock,
              Cause& cause) {
  const ThreadSnapshot* const owner = lock.own_holder;
  cause.blocks_others = true;
  if (owner == &thread) {
    cause.id = CauseId::Deadlock;
    cause.progress = Progress::Stuck;
    cause.summary += ", already held by this thread";
    cause.evidence.push_back("the last who took it is this thread");
    return;
  }
  cause.summary +=
      fmt::format(", held by {} of this process",
                  owner != nullptr ? owner->who() : "a thread that has ended");
  if (owner != nullptr) {
    cause.blocked_by.push_back(owner->id);
  }
}

void find_holder(const ProcessSnapshot& of,
                 const AwaitedSharedLock& lock,
                 Cause& cause) {
  for (const int pid : lock.holders) {
    cause.blocked_by.push_back({pid, pid});
    cause.evidence.push_back(process_text(pid) + " has it, says its object");
  }
  if (!cause.blocked_by.empty()) {
    cause.confidence = Confidence::Certain;
    cause.blocks_others = true;
    cause.summary +=
        fmt::format(", held by {}", process_text(cause.blocked_by.front().pid));
  } else if (lock.all_told) {
    cause.id = CauseId::LockOfDeadProcess;
    cause.progress = Progress::Stuck;
    cause.summary += ", and that none of those alive has: who had it has ended";
    cause.evidence.push_back(
        "none of these has it; a semaphore is not released when its owner is "
        "killed");
    cause.next.push_back({fmt::format("kill {}", of.pid),
                          "nothing can free it; start all of them anew"});
  }
}

constexpr std::string_view kFile = "/multiprocessing/synchronize.py";

// Condition.wait, which only Event.wait calls by a function of that name.
bool is_event(const ThreadSnapshot& thread) {
  const auto& frames = thread.frames();
  return frames.size() > 1 && frames[1].function == "wait" &&
         frames[1].file.ends_with(kFile);
}

std::string_view kind_of(const ThreadSnapshot& thread) {
  constexpr std::size_t kDepth = 3;
  if (thread.find("put", "/multiprocessing/queues.py", kDepth) != nullptr) {
    return "put() of a full queue";
  }
  return thread.find("wait", kFile, 1) == nullptr ? "acquire() of a Semaphore"
         : is_event(thread)                       ? "wait() of an Event"
                                                  : "wait() of a Condition";
}

// A process that does not wait for the same, or computes, may end the wait.
void find_others(const ProcessSnapshot& of,
                 const ThreadSnapshot& thread,
                 const AwaitedSharedLock& wait,
                 Cause& cause) {
  const ThreadSnapshot* works = of.other_running_thread(&thread);
  for (const int pid : wait.sharers) {
    const ProcessSnapshot* const other = of.system.snapshot(pid);
    if (works == nullptr && other != nullptr) {
      works = other->other_running_thread();
    }
    if (std::ranges::find(wait.waiting, pid) == wait.waiting.end()) {
      cause.blocked_by.push_back({pid, pid});
    }
  }
  if (works != nullptr) {
    cause.blocked_by = {works->id};
    cause.evidence.push_back(fmt::format(
        "{} is at work, at {}", process_text(works->id.pid), works->place()));
  }
}

// All who share it wait for the same, and no other thread of theirs could end
// that.
bool is_nobody_left(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    const AwaitedSharedLock& wait) {
  const auto has_one_thread = [](const ProcessSnapshot& one) {
    const auto threads = one.python_threads();
    return !one.handles_signals() &&
           std::ranges::count_if(threads, [](const ThreadSnapshot* its) {
             return its->ran || !is_worker_loop(*its);
           }) == 1;
  };
  const int parent = of.status.ppid;
  const bool parent_is_unseen =
      of.forked_from(parent) && of.system.snapshot(parent) == nullptr;
  return !thread.ran && !thread.has_timeout() && has_one_thread(of) &&
         !runs_beside(of, thread) && wait.all_told && !parent_is_unseen &&
         wait.waiting.size() == wait.sharers.size() &&
         std::ranges::all_of(wait.waiting, [&](int pid) {
           const ProcessSnapshot* const other = of.system.snapshot(pid);
           const ThreadSnapshot* const main =
               other != nullptr ? other->thread(pid) : nullptr;
           return main != nullptr && has_one_thread(*other) && !main->ran &&
                  !main->has_timeout();
         });
}

// An Event, a Condition, the room in a queue.
void tell_wait(const ProcessSnapshot& of,
               const ThreadSnapshot& thread,
               const AwaitedSharedLock& wait,
               Cause& cause) {
  cause.id = CauseId::SharedWait;
  cause.confidence = Confidence::Possible;
  cause.summary = fmt::format(
      "waits until another process resumes it: in {} of multiprocessing",
      kind_of(thread));
  if (of.makes_progress(thread)) {
    cause.progress = Progress::Running;
    cause.evidence.push_back("it has gone on meanwhile, and waits again");
  } else if (thread.has_timeout() && is_event(thread)) {
    cause.id = CauseId::Sleeps;
    cause.progress = Progress::Idle;
    cause.confidence = Confidence::Likely;
    cause.summary =
        "sleeps for a fixed time, or until an Event of "
        "multiprocessing is set";
  } else {
    find_others(of, thread, wait, cause);
    if (is_nobody_left(of, thread, wait)) {
      cause.id = CauseId::NobodyLeft;
      cause.progress = Progress::Stuck;
      cause.confidence = Confidence::Likely;
      cause.summary += wait.sharers.empty()
                           ? ", and no other process is left that shares it"
                           : ", and all processes that share it wait for it";
    }
  }
}

}  // namespace

Found shared_semaphore(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread) {
  const auto lock = awaited_shared_lock(of, thread);
  if (!lock) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::SharedLock,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely,
              .summary = "waits for a lock that processes share"};
  cause.evidence.push_back(
      fmt::format("a semaphore in shared memory, at {}", thread.place()));
  cause.evidence.push_back(fmt::format(
      "{} other {} it", lock->sharers.size(),
      lock->sharers.size() == 1 ? "process shares" : "processes share"));
  if (lock->known && !lock->is_lock) {
    tell_wait(of, thread, *lock, cause);
  } else if (lock->own_count > 0) {
    tell_own(thread, *lock, cause);
  } else if (lock->known) {
    find_holder(of, *lock, cause);
  }
  return cause;
}

}  // namespace hangdbg::causes
