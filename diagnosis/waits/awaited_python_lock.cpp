#include "diagnosis/waits/awaited_python_lock.h"

#include <algorithm>
#include <set>
#include <utility>

namespace hangdbg {
namespace {

// Condition.wait() releases the Condition's lock while it waits, although its
// callers are in a `with` of it (Lib/threading.py); not before it has made its
// waiter.
std::optional<Address> let_go(const ProcessSnapshot& of,
                              const PythonFrame& frame) {
  if (frame.function != "wait" || !frame.file.ends_with("/threading.py") ||
      !of.object(frame, "waiter")) {
    return {};
  }
  return of.object(frame, "self._lock");
}

// A Condition's own __enter__ and __exit__ act for their caller.
std::size_t whose(const std::vector<PythonFrame>& frames, std::size_t i) {
  const bool own =
      frames[i].function == "__enter__" || frames[i].function == "__exit__";
  return own && frames[i].file.ends_with("/threading.py") &&
                 i + 1 < frames.size()
             ? i + 1
             : i;
}

}  // namespace

// The outermost frame's name for it says most: a library's own is "self._lock".
// Frames further out only pass it on.
std::optional<AwaitedPythonLock> awaited_python_lock(
    const ProcessSnapshot& of,
    const ThreadSnapshot& thread) {
  if (!of.is_python() || thread.wait.syscall != "futex" ||
      thread.frames().empty()) {
    return std::nullopt;
  }
  constexpr std::size_t kDepth = 5;
  const auto words = parked_by(of.objects(), thread.wait);
  std::optional<AwaitedPythonLock> awaited;
  for (std::size_t i = 0; i < std::min(kDepth, thread.frames().size()); ++i) {
    auto found = find_lock(of.objects(), thread.frames()[i], words);
    if (!found && awaited) {
      break;
    }
    if (found && (!awaited || !found->name.empty())) {
      awaited = {*std::move(found), &thread.frames()[i]};
    }
  }
  return awaited;
}

std::vector<PythonLockHolder> holders_of(const ProcessSnapshot& of,
                                         const PythonLock& lock) {
  if (lock.owner != 0) {
    const ThreadSnapshot* const owner = of.by_ident(lock.owner);
    return owner != nullptr ? std::vector{PythonLockHolder{.thread = owner}}
                            : std::vector<PythonLockHolder>();
  }
  std::vector<PythonLockHolder> holders;
  for (const ThreadSnapshot* const one : of.python_threads()) {
    const auto& held = held_by(of, *one);
    const auto has = std::ranges::find_if(held, [&](const auto& each) {
      return each.lock.object == lock.object;
    });
    if (has != held.end()) {
      holders.push_back({one, has->frame});
    }
  }
  return holders;
}

const std::vector<HeldPythonLock>& held_by(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread) {
  const auto [known, fresh] = of.held_locks.try_emplace(thread.id.tid);
  std::vector<HeldPythonLock>& all = known->second;
  if (!fresh) {
    return all;
  }
  std::set<Address> without;  // a signal handler may wait for it again
  const auto& frames = of.all_frames_of(thread);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const PythonFrame& frame = frames[i];
    if (const auto released = let_go(of, frame)) {
      without.insert(*released);
    }
    of.objects().allow_reads();
    for (const PythonLock& lock : held_by_with(of.objects(), frame)) {
      if (!without.contains(lock.object)) {
        all.push_back({lock, &frames[whose(frames, i)]});
      }
    }
  }
  return all;
}

}  // namespace hangdbg
