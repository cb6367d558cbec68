// A Lock or RLock of Python: its holder, and whether any thread is left that
// could release it.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_python_lock.h"
#include "diagnosis/waits/waits_inside.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// A waiter is not yet in the block: its own frames are searched, too.
void find_holders(const ProcessSnapshot& of,
                  const PythonLock& lock,
                  Cause& cause) {
  for (const PythonLockHolder& holder : holders_of(of, lock)) {
    cause.blocked_by.push_back(holder.thread->id);
    cause.evidence.push_back(
        holder.frame == nullptr
            ? fmt::format("the RLock says that {} owns it, {} times over",
                          holder.thread->who(), lock.count)
            : fmt::format("{} is inside its `with` at {}", holder.thread->who(),
                          place_of(*holder.frame)));
  }
}

// "queue.py:133 in put, on top of which runs app.py:14 in tick": where the
// thread took the lock that it waits for now, and what interrupted it there: a
// signal handler or the garbage collector.
void tell_own_frame(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    const PythonLock& lock,
                    Cause& cause) {
  const auto& held = held_by(of, thread);
  const auto own = std::ranges::find_if(held, [&](const HeldPythonLock& one) {
    return one.lock.object == lock.object;
  });
  if (own == held.end() || own->frame == nullptr) {
    return;
  }
  cause.summary += ", at " + place_of(*own->frame);
  // Handlers and finalizers are called by C.
  const PythonFrame* inner = nullptr;
  for (const PythonFrame& frame : of.all_frames_of(thread)) {
    if (&frame == own->frame) {
      break;
    }
    if (!is_library(frame.file) &&
        (inner == nullptr || frame.entry || !inner->entry)) {
      inner = &frame;
    }
  }
  if (inner != nullptr) {
    cause.evidence.push_back(fmt::format(
        "on top of {} runs {}", place_of(*own->frame), place_of(*inner)));
  }
}

// In a forked process: whether a thread of the parent holds the lock at the
// same address.
bool parent_has_it(const ProcessSnapshot& of, const PythonLock& lock) {
  const ProcessSnapshot* const parent = of.system.snapshot(of.status.ppid);
  if (parent == nullptr || !parent->is_python()) {
    return false;
  }
  const auto threads = parent->python_threads();
  return std::ranges::any_of(threads, [&](const ThreadSnapshot* one) {
    return std::ranges::any_of(held_by(*parent, *one), [&](const auto& held) {
      return held.lock.object == lock.object;
    });
  });
}

// Certain only if nothing remains that cannot be read: a signal handler may
// release it, or C code in a thread without Python.
void tell_nobody_left(const ProcessSnapshot& of,
                      const PythonLock& lock,
                      Cause& cause) {
  cause.progress = Progress::Stuck;
  cause.confidence = of.handles_signals() || of.threads.size() > 1
                         ? Confidence::Likely
                         : Confidence::Certain;
  if (of.handles_signals()) {
    cause.evidence.push_back(
        "it catches signals: a handler of one could let go of the lock");
  }
  if (!of.forked_from(of.status.ppid)) {
    return;
  }
  const std::string parent = process_text(of.status.ppid);
  cause.id = CauseId::ForkLock;
  cause.evidence.push_back(fmt::format(
      "forked from {}: the same memory, but none of its other threads",
      parent));
  if (parent_has_it(of, lock)) {
    cause.summary += fmt::format(
        ": it was held when {} forked this process, by a thread that is only "
        "there",
        parent);
    cause.evidence.push_back(
        fmt::format("a thread of {} is inside its `with` there", parent));
  } else {
    cause.confidence = Confidence::Likely;
    cause.summary += fmt::format(
        ": perhaps it was held when {} forked this process", parent);
  }
  cause.next.push_back(
      {fmt::format("kill {}", of.pid),
       "nothing can free it; use the start method \"spawn\" or fork before "
       "threads start"});
}

}  // namespace

Found python_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto awaited = awaited_python_lock(of, thread);
  if (!awaited) {
    return std::nullopt;
  }
  const NamedLock& lock = awaited->lock;
  const bool logging =
      std::ranges::any_of(thread.frames(), [](const PythonFrame& one) {
        return one.file.ends_with("/logging/__init__.py");
      });
  Cause cause{.id = logging ? CauseId::LoggingLock : CauseId::PythonLock,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  const std::string_view kind =
      lock.lock.kind == Kind::RLock ? "RLock" : "Lock";
  cause.evidence.push_back(fmt::format("parked on the {} at {:#x} at {}", kind,
                                       lock.lock.object.value, thread.place()));
  find_holders(of, lock.lock, cause);
  cause.summary = fmt::format(
      "waits for {}the {}{}", logging ? "logging's lock, " : "", kind,
      lock.name.empty() ? "" : fmt::format(" `{}`", printable(lock.name)));
  const bool alone = of.python_threads().size() == 1;
  const bool itself =
      std::ranges::find(cause.blocked_by, thread.id) != cause.blocked_by.end();
  if (itself && lock.lock.owner == 0 && !of.makes_progress(thread)) {
    cause.id = CauseId::Deadlock;
    cause.progress = Progress::Stuck;
    cause.confidence = Confidence::Certain;
    cause.summary += ", already held by this thread (Lock is not reentrant)";
    tell_own_frame(of, thread, lock.lock, cause);
    cause.blocked_by.clear();
  } else if (!cause.blocked_by.empty()) {
    cause.blocks_others = true;
    cause.confidence = Confidence::Certain;
    cause.summary += fmt::format(
        ", held by {}", of.thread(cause.blocked_by.front().tid)->who());
  } else if (lock.lock.owner != 0) {
    cause.progress = Progress::Stuck;
    cause.confidence = Confidence::Certain;
    cause.id = CauseId::LockOfEndedThread;
    cause.summary += ", whose owner is no thread of this process";
    if (of.forked_from(of.status.ppid)) {
      tell_nobody_left(of, lock.lock, cause);
    }
  } else if (alone && !runs_beside(of, thread)) {
    cause.summary += ", and no other thread is here that could release it";
    tell_nobody_left(of, lock.lock, cause);
  } else if (!runs_beside(of, thread) && only_wait_for_each_other(of)) {
    cause.summary += fmt::format(
        ", which nobody is left to release: all {} threads wait for each other",
        of.python_threads().size());
    tell_nobody_left(of, lock.lock, cause);
    cause.confidence = Confidence::Likely;
  } else {
    cause.confidence = Confidence::Possible;
    cause.summary += ", and its owner is not recorded";
    cause.evidence.push_back(
        "no thread is inside a `with` block of it; a Lock has no owner");
  }
  if (thread.has_timeout()) {
    cause.progress = Progress::Blocked;
    cause.evidence.push_back("it waits for a limited time only");
  }
  if (of.makes_progress(thread) && cause.progress == Progress::Blocked) {
    cause.progress = Progress::Running;
    cause.evidence.push_back("it has had the lock meanwhile: they take turns");
  }
  cause.next.push_back({fmt::format("hangdbg dump {} --locals", of.pid),
                        "its stacks, with what each frame has"});
  cause.next.push_back({fmt::format("hangdbg locks {}", of.pid),
                        "owners and waiters of each lock"});
  return cause;
}

}  // namespace hangdbg::causes
