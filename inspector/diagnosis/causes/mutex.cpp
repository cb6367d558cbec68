// A mutex of the C library (pthread_mutex_lock(3)). It keeps its owner's
// number, as the process knew that when it was taken: after a fork that of a
// thread of the parent. Source: glibc's struct __pthread_mutex_s.
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/task_ids.h"

namespace hangdbg::causes {
namespace {

struct Mutex {
  std::int32_t lock;  // 2: held, and somebody waits
  std::uint32_t count;
  std::int32_t owner;
  std::uint32_t users;
  std::int32_t kind;
};

std::optional<Mutex> awaited_mutex(const Case& of, const CaseThread& thread) {
  const auto& call = thread.wait.call;
  const auto operation = call.args[1] & FUTEX_CMD_MASK;
  constexpr std::uint64_t kHeldAndAwaited = 2;
  if (call.running || call.number != SYS_futex || operation != FUTEX_WAIT ||
      call.args[2] != kHeldAndAwaited) {
    return {};
  }
  const auto mutex =
      LiveMemory(of.pid).read_value<Mutex>(Address{call.args[0]});
  // Locks without an owner, as malloc's, have anything behind them.
  constexpr std::int32_t kKinds = 0x3ff;
  return mutex && mutex->owner > 0 && mutex->users > 0 &&
                 mutex->users < 100'000 && (mutex->kind & ~kKinds) == 0
             ? std::optional(*mutex)
             : std::nullopt;
}

}  // namespace

Found mutex(const Case& of, const CaseThread& thread) {
  const auto mutex = awaited_mutex(of, thread);
  const auto tasks = mutex ? TaskIds::read(of.pid) : std::unexpected(Error());
  if (!tasks) {
    return std::nullopt;
  }
  const auto owner = tasks->outer(static_cast<std::uint64_t>(mutex->owner));
  Cause cause{.id = "mutex",
              .standing = Standing::Waits,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(
      fmt::format("pthread_mutex_lock on the mutex at {:#x}, owner {}, at {}",
                  thread.wait.call.args[0], mutex->owner, thread.place()));
  for (const std::string& function : of.native(thread)) {
    cause.evidence.push_back("in " + function);
    if (cause.evidence.size() == 4) {
      break;
    }
  }
  if (owner) {
    const CaseThread* const holder = of.thread(*owner);
    cause.behind.push_back({of.pid, *owner});
    cause.held = true;
    cause.sentence =
        fmt::format("waits for a mutex of C code, which {} has",
                    *owner == thread.id.tid ? "it itself"
                    : holder != nullptr     ? holder->who()
                                            : fmt::format("thread {}", *owner));
    return cause;
  }
  cause.standing = Standing::Stuck;
  const int parent = of.status.ppid;
  const auto theirs = TaskIds::read(parent);
  if (of.forked_from(parent)) {
    cause.id = "fork-lock";
    const auto outer =
        theirs ? theirs->outer(static_cast<std::uint64_t>(mutex->owner))
               : std::nullopt;
    cause.sentence = fmt::format(
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
  cause.id = "lock-of-ended-thread";
  cause.sentence = fmt::format(
      "waits for a mutex of C code whose owner, thread {}, has ended",
      mutex->owner);
  return cause;
}

}  // namespace hangdbg::causes
