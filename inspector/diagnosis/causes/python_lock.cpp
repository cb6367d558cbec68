// A Lock or RLock of Python: who has it, and whether there is anybody who
// could let go of it.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/python_locks.h"

namespace hangdbg::causes {
namespace {

struct Awaited {
  std::optional<NamedLock> lock;
  const PythonFrame* frame = nullptr;  // that has it by its name
};

// The name that the outermost frame has for it says most: a library's own is
// "self._lock". Frames further out pass it on at most.
Awaited find_awaited(const Case& of, const CaseThread& thread) {
  constexpr std::size_t kDepth = 5;
  const auto words = parked_by(of.heap(), thread.wait);
  Awaited awaited;
  for (std::size_t i = 0; i < std::min(kDepth, thread.frames().size()); ++i) {
    auto found = find_lock(of.heap(), thread.frames()[i], words);
    if (!found && awaited.lock) {
      break;
    }
    if (found && (!awaited.lock || !found->name.empty())) {
      awaited = {std::move(found), &thread.frames()[i]};
    }
  }
  return awaited;
}

// While it waits for a Condition it has let go of its lock.
bool has_let_go(const Case& of, const CaseThread& thread, Address lock) {
  const PythonFrame* const waits = thread.find("wait", "/threading.py", 3);
  return waits != nullptr && of.object(*waits, "self._lock") == lock;
}

const PythonFrame* frame_that_holds(const Case& of,
                                    const CaseThread& thread,
                                    Address lock) {
  if (has_let_go(of, thread, lock)) {
    return nullptr;
  }
  for (const PythonFrame& frame : thread.frames()) {
    of.heap().allow_reads();
    const auto held = held_by_with(of.heap(), frame);
    if (std::ranges::find(held, lock, &PythonLock::object) != held.end()) {
      return &frame;
    }
  }
  return nullptr;
}

// Who waits for it is not yet in the block: its own frames are asked, too.
void find_holders(const Case& of, const PythonLock& lock, Cause& cause) {
  if (lock.owner != 0) {
    if (const CaseThread* const owner = of.by_ident(lock.owner)) {
      cause.behind.push_back(owner->id);
      cause.evidence.push_back(
          fmt::format("the RLock says that {} owns it, {} times over",
                      owner->who(), lock.count));
    }
    return;
  }
  for (const CaseThread* const one : of.python_threads()) {
    if (const auto* frame = frame_that_holds(of, *one, lock.object)) {
      cause.behind.push_back(one->id);
      cause.evidence.push_back(fmt::format("{} is inside its `with` at {}",
                                           one->who(), place_of(*frame)));
    }
  }
}

// Of a process that was forked: whether a thread of the parent has it there, at
// the same address.
bool parent_has_it(const Case& of, const PythonLock& lock) {
  const Case* const parent = of.world.look_at(of.status.ppid);
  if (parent == nullptr || !parent->is_python()) {
    return false;
  }
  const auto threads = parent->python_threads();
  return std::ranges::any_of(threads, [&](const CaseThread* one) {
    return frame_that_holds(*parent, *one, lock.object) != nullptr;
  });
}

// Certain only if nothing is left that we cannot read: a handler of a signal
// may let go of it, or C code in a thread without Python.
void tell_nobody_left(const Case& of, const PythonLock& lock, Cause& cause) {
  cause.standing = Standing::Stuck;
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
  cause.id = "fork-lock";
  cause.evidence.push_back(fmt::format(
      "forked from {}: the same memory, but none of its other threads",
      parent));
  if (parent_has_it(of, lock)) {
    cause.sentence += fmt::format(
        ": it was held when {} forked this process, by a thread that is only "
        "there",
        parent);
    cause.evidence.push_back(
        fmt::format("a thread of {} is inside its `with` there", parent));
  } else {
    cause.confidence = Confidence::Likely;
    cause.sentence += fmt::format(
        ": perhaps it was held when {} forked this process", parent);
  }
  cause.next.push_back(
      {fmt::format("kill {}", of.pid),
       "nothing can free it; use the start method \"spawn\" or fork before "
       "threads start"});
}

}  // namespace

Found python_lock(const Case& of, const CaseThread& thread) {
  if (!of.is_python() || thread.wait.syscall != "futex" ||
      thread.frames().empty()) {
    return std::nullopt;
  }
  const auto [lock, frame] = find_awaited(of, thread);
  if (!lock) {
    return std::nullopt;
  }
  const bool logging =
      std::ranges::any_of(thread.frames(), [](const PythonFrame& one) {
        return one.file.ends_with("/logging/__init__.py");
      });
  Cause cause{.id = logging ? "logging-lock" : "python-lock",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely};
  const std::string_view kind =
      lock->lock.kind == Kind::RLock ? "RLock" : "Lock";
  cause.evidence.push_back(fmt::format("parked on the {} at {:#x} at {}", kind,
                                       lock->lock.object.value,
                                       thread.place()));
  find_holders(of, lock->lock, cause);
  cause.sentence = fmt::format(
      "waits for {}the {}{}", logging ? "logging's lock, " : "", kind,
      lock->name.empty() ? "" : fmt::format(" `{}`", printable(lock->name)));
  const bool alone = of.python_threads().size() == 1;
  const bool itself =
      std::ranges::find(cause.behind, thread.id) != cause.behind.end();
  if (itself && lock->lock.owner == 0) {
    cause.id = "deadlock";
    cause.standing = Standing::Stuck;
    cause.confidence = Confidence::Certain;
    cause.sentence += ", which it has itself: a Lock is not to be taken twice";
    cause.behind.clear();
  } else if (!cause.behind.empty()) {
    cause.held = true;
    cause.confidence = Confidence::Certain;
    cause.sentence += fmt::format(", which {} has",
                                  of.thread(cause.behind.front().tid)->who());
  } else if (lock->lock.owner != 0) {
    cause.standing = Standing::Stuck;
    cause.confidence = Confidence::Certain;
    cause.id = "lock-of-ended-thread";
    cause.sentence += ", whose owner is no thread of this process";
    if (of.forked_from(of.status.ppid)) {
      tell_nobody_left(of, lock->lock, cause);
    }
  } else if (alone) {
    cause.sentence += ", and no other thread is here that could release it";
    tell_nobody_left(of, lock->lock, cause);
  } else {
    cause.confidence = Confidence::Possible;
    cause.sentence += ", and who has it is not recorded";
    cause.evidence.push_back(
        "no thread is inside a `with` block of it; a Lock has no owner");
  }
  if (thread.wakes_by_itself()) {
    cause.standing = Standing::Waits;
    cause.evidence.push_back("it waits for a limited time only");
  }
  if (frame != nullptr) {
    cause.next.push_back({fmt::format("hangdbg dump {} --locals", of.pid),
                          "its stacks, with what each frame has"});
  }
  return cause;
}

}  // namespace hangdbg::causes
