// A lock of multiprocessing, which several processes share: a semaphore in
// shared memory (Modules/_multiprocessing/semaphore.c). Each process's object
// says whether that process has it. Processes that were forked have it at the
// same address.
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "tracee/proc_maps.h"

namespace hangdbg::causes {
namespace {

// SemLockObject, behind its head.
struct SemLock {
  std::uint64_t handle;  // sem_t *
  std::uint64_t last_tid;
  std::int32_t count;  // how often this process has it
  std::int32_t maxvalue;
  std::int32_t kind;
};

struct Shared {
  std::uint64_t device = 0, inode = 0;
};

std::optional<Shared> shared_mapping(int pid, Address at) {
  const auto maps = read_maps(pid);
  for (const Mapping& one : maps ? *maps : std::vector<Mapping>()) {
    if (one.contains(at) && one.shared && one.inode != 0) {
      return Shared{one.device, one.inode};
    }
  }
  return {};
}

bool maps_it(int pid, const Shared& file) {
  const auto maps = read_maps(pid);
  return maps && std::ranges::any_of(*maps, [&](const Mapping& one) {
           return one.inode == file.inode && one.device == file.device;
         });
}

// The object, by the names that multiprocessing has for it.
std::optional<Address> object_of(const Case& of,
                                 const CaseThread& thread,
                                 Address semaphore) {
  constexpr std::size_t kDepth = 4;
  for (std::size_t i = 0; i < std::min(kDepth, thread.frames().size()); ++i) {
    for (const char* const name :
         {"self._semlock", "self._rlock._semlock", "self._wlock._semlock",
          "lock._semlock", "lock"}) {
      const auto object = of.object(thread.frames()[i], name);
      const auto lock = object ? LiveMemory(of.pid).read_value<SemLock>(
                                     *object + of.heap().at().object_size)
                               : std::unexpected(Error());
      if (lock && lock->handle == semaphore.value) {
        return object;
      }
    }
  }
  return {};
}

// Relatives: who shares such a lock got it from a common parent.
std::vector<int> relatives(const Case& of) {
  std::vector<int> pids = {of.status.ppid};
  for (const int parent : {of.status.ppid, of.pid}) {
    const auto [begin, end] = of.world.children().equal_range(parent);
    for (auto at = begin; at != end; ++at) {
      if (at->second != of.pid) {
        pids.push_back(at->second);
      }
    }
  }
  return pids;
}

}  // namespace

Found shared_semaphore(const Case& of, const CaseThread& thread) {
  const auto& call = thread.wait.call;
  if (call.running || call.number != SYS_futex || !of.is_python() ||
      (call.args[1] & FUTEX_PRIVATE_FLAG) != 0) {
    return std::nullopt;
  }
  const Address semaphore{call.args[0]};
  const auto file = shared_mapping(of.pid, semaphore);
  if (!file) {
    return std::nullopt;
  }
  Cause cause{.id = "shared-lock",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely,
              .sentence = "waits for a lock that processes share"};
  cause.evidence.push_back(
      fmt::format("a semaphore in shared memory, at {}", thread.place()));
  const auto object = object_of(of, thread, semaphore);
  std::size_t sharers = 0;
  bool all_told = object.has_value();
  for (const int pid : relatives(of)) {
    if (!maps_it(pid, *file)) {
      continue;
    }
    ++sharers;
    if (!object || !of.forked_from(pid)) {
      all_told = false;
      continue;
    }
    const auto theirs = LiveMemory(pid).read_value<SemLock>(
        *object + of.heap().at().object_size);
    if (theirs && theirs->handle == semaphore.value && theirs->count > 0) {
      cause.behind.push_back({pid, pid});
      cause.evidence.push_back(process_text(pid) + " has it, says its object");
    }
  }
  if (!cause.behind.empty()) {
    cause.confidence = Confidence::Certain;
    cause.held = true;
    cause.sentence +=
        fmt::format(", which {} has", process_text(cause.behind.front().pid));
    return cause;
  }
  cause.evidence.push_back(
      fmt::format("{} other {} it", sharers,
                  sharers == 1 ? "process shares" : "processes share"));
  const bool own = object && LiveMemory(of.pid)
                                     .read_value<SemLock>(
                                         *object + of.heap().at().object_size)
                                     .value_or(SemLock{})
                                     .count > 0;
  if (own) {
    return cause;  // another thread of this process, or itself
  }
  if (all_told) {
    cause.id = "lock-of-dead-process";
    cause.standing = Standing::Stuck;
    cause.sentence +=
        ", and that none of those alive has: who had it has ended";
    cause.evidence.push_back(
        "none of these has it; a semaphore is not released when who has it is "
        "killed");
    cause.next.push_back({fmt::format("kill {}", of.pid),
                          "nothing can free it; start all of them anew"});
  }
  return cause;
}

}  // namespace hangdbg::causes
