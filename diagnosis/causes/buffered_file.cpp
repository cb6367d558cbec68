// A buffered file (io.BufferedWriter, sys.stdout) with another thread in its C
// code, now or when this process was forked.
#include <fmt/core.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_buffered_file.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// The holder of the lock is in a read or a write: it waits for the descriptor
// or the GIL, or runs. A thread that sleeps in another call reuses the ID of a
// thread of the parent.
bool may_have_it(const ThreadSnapshot& thread) {
  return !thread.wait.syscall.starts_with("clock_nanosleep") &&
         !thread.wait.syscall.starts_with("nanosleep") &&
         (thread.wait.syscall != "futex" || thread.has_timeout());
}

}  // namespace

Found buffered_file(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto file = awaited_buffered_file(of, thread);
  if (!file || file->owner == 0) {
    return std::nullopt;
  }
  const int parent = of.status.ppid;
  const bool forked = of.forked_from(parent);
  const ThreadSnapshot* const owner = of.by_ident(file->owner);
  const bool here = owner != nullptr && (!forked || may_have_it(*owner));
  const std::string what =
      file->type.substr(file->type.find('.') + 1) + "'s lock";
  Cause cause{.id = CauseId::PythonLock,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain,
              .summary = fmt::format("waits for a {}", what)};
  cause.evidence.push_back(
      fmt::format("parked on the lock of the {} at {:#x}, at {}", file->type,
                  file->object.value, thread.place()));
  if (here) {
    cause.blocked_by.push_back(owner->id);
    cause.blocks_others = true;
    cause.summary += fmt::format(", held by {}", owner->who());
    cause.evidence.push_back(fmt::format(
        "it says that {} owns it: it reads or writes that file", owner->who()));
    if (of.makes_progress(thread)) {
      cause.progress = Progress::Running;
      cause.evidence.push_back(
          "it has had the lock meanwhile: they take turns");
    }
    return cause;
  }
  cause.progress = Progress::Stuck;
  if (!forked) {
    cause.id = CauseId::LockOfEndedThread;
    cause.summary += ", whose owner is no thread of this process";
    return cause;
  }
  cause.id = CauseId::ForkLock;
  cause.summary += fmt::format(
      ": it was held when {} forked this process, by a thread that is only "
      "there",
      process_text(parent));
  cause.confidence =
      owner == nullptr ? Confidence::Certain : Confidence::Likely;
  const ProcessSnapshot* const before = of.system.snapshot(parent);
  const ThreadSnapshot* const there =
      before != nullptr ? before->by_ident(file->owner) : nullptr;
  cause.evidence.push_back(fmt::format(
      "it says that thread {:#x} owns it, which is {} of {}", file->owner,
      there != nullptr ? there->who() : "a thread", process_text(parent)));
  if (owner != nullptr) {
    cause.evidence.push_back(fmt::format(
        "{} was given the same number, and is not at a file", owner->who()));
  }
  cause.next.push_back(
      {fmt::format("kill {}", of.pid),
       "nothing can free it; use the start method \"spawn\" or fork before "
       "threads start"});
  return cause;
}

}  // namespace hangdbg::causes
