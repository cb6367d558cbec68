// A lock of multiprocessing, which several processes share: a semaphore in
// shared memory (Modules/_multiprocessing/semaphore.c). Each process's object
// says whether that process has it. Processes that were forked have it at the
// same address; in others it is looked for among what their frames know.
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <array>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/python_locals.h"
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

  bool is_lock() const { return maxvalue == 1; }  // else a semaphore
};

struct Shared {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const Shared&) const = default;
};

using Maps = std::vector<Mapping>;

Maps maps_of(int pid) {
  return read_maps(pid).value_or(Maps());
}

std::optional<Shared> shared_mapping(const Maps& maps, Address at) {
  for (const Mapping& one : maps) {
    if (one.contains(at) && one.shared && one.inode != 0) {
      return Shared{one.device, one.inode};
    }
  }
  return {};
}

bool maps_it(const Maps& maps, const Shared& file) {
  return std::ranges::any_of(maps, [&](const Mapping& one) {
    return one.inode == file.inode && one.device == file.device;
  });
}

struct Object {
  Address at;
  SemLock lock;
};

std::optional<SemLock> lock_at(const Case& of, Address object) {
  const auto lock = LiveMemory(of.pid).read_value<SemLock>(
      object + of.heap().at().object_size);
  return lock ? std::optional(*lock) : std::nullopt;
}

// By the names that programs and multiprocessing's own classes have for it.
std::optional<Object> object_of(const Case& of,
                                const CaseThread& thread,
                                const Maps& maps,
                                const Shared& file,
                                std::size_t depth) {
  constexpr std::array<std::string_view, 8> kAttributes = {
      "",
      "._semlock",
      "._rlock._semlock",
      "._wlock._semlock",
      "._lock._semlock",
      "._sem._semlock",
      "._wait_semaphore._semlock",
      "._woken_count._semlock"};
  constexpr std::size_t kMostVariables = 30;
  for (std::size_t i = 0; i < std::min(depth, thread.frames().size()); ++i) {
    const PythonFrame& frame = thread.frames()[i];
    of.heap().allow_reads();
    auto variables = read_locals(of.heap(), frame.address, frame.code);
    if (!variables) {
      continue;
    }
    variables->resize(std::min(variables->size(), kMostVariables));
    for (const Variable& variable : *variables) {
      for (const std::string_view attribute : kAttributes) {
        const auto object =
            attribute.empty()
                ? std::optional(variable.object)
                : of.object(frame,
                            fmt::format("{}{}", variable.name, attribute));
        const auto lock = object ? lock_at(of, *object) : std::nullopt;
        if (lock && shared_mapping(maps, Address{lock->handle}) == file) {
          return Object{*object, *lock};
        }
      }
    }
  }
  return {};
}

// Relatives: who shares such a lock got it from a common parent.
std::vector<int> sharers_of(const Case& of, const Shared& file) {
  std::vector<int> pids = {of.status.ppid};
  for (const int parent : {of.status.ppid, of.pid}) {
    const auto [begin, end] = of.world.children().equal_range(parent);
    for (auto at = begin; at != end; ++at) {
      if (at->second != of.pid) {
        pids.push_back(at->second);
      }
    }
  }
  std::erase_if(pids, [&](int pid) { return !maps_it(maps_of(pid), file); });
  return pids;
}

// How often that process has it. None: that cannot be told.
std::optional<int> count_in(const Case& of,
                            const Object& object,
                            const Shared& file,
                            int pid) {
  if (of.forked_from(pid)) {
    const auto lock = LiveMemory(pid).read_value<SemLock>(
        object.at + of.heap().at().object_size);
    return lock && lock->handle == object.lock.handle
               ? std::optional(lock->count)
               : std::nullopt;
  }
  const Case* const other = of.world.look_at(pid);
  if (other == nullptr || !other->is_python()) {
    return {};
  }
  const Maps maps = maps_of(pid);
  for (const CaseThread* const one : other->python_threads()) {
    constexpr std::size_t kDepth = 20;
    if (const auto its = object_of(*other, *one, maps, file, kDepth)) {
      return its->lock.count;
    }
  }
  return {};
}

// Other threads of this process than this one may have it, or this one itself.
void tell_own(const Case& of,
              const CaseThread& thread,
              const SemLock& lock,
              Cause& cause) {
  const CaseThread* const owner = of.by_ident(lock.last_tid);
  cause.held = true;
  if (owner == &thread) {
    cause.id = "deadlock";
    cause.standing = Standing::Stuck;
    cause.sentence += ", which it has itself";
    cause.evidence.push_back("the last who took it is this thread");
    return;
  }
  cause.sentence +=
      fmt::format(", which {} of this process has",
                  owner != nullptr ? owner->who() : "a thread that has ended");
  if (owner != nullptr) {
    cause.behind.push_back(owner->id);
  }
}

void find_holder(const Case& of,
                 const Object& object,
                 const Shared& file,
                 const std::vector<int>& sharers,
                 Cause& cause) {
  bool all_told = true;
  for (const int pid : sharers) {
    const auto count = count_in(of, object, file, pid);
    all_told = all_told && count.has_value();
    if (count.value_or(0) > 0) {
      cause.behind.push_back({pid, pid});
      cause.evidence.push_back(process_text(pid) + " has it, says its object");
    }
  }
  if (!cause.behind.empty()) {
    cause.confidence = Confidence::Certain;
    cause.held = true;
    cause.sentence +=
        fmt::format(", which {} has", process_text(cause.behind.front().pid));
  } else if (all_told) {
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
}

}  // namespace

Found shared_semaphore(const Case& of, const CaseThread& thread) {
  const auto& call = thread.wait.call;
  if (call.running || call.number != SYS_futex || !of.is_python() ||
      (call.args[1] & FUTEX_PRIVATE_FLAG) != 0) {
    return std::nullopt;
  }
  const Maps maps = maps_of(of.pid);
  const auto file = shared_mapping(maps, Address{call.args[0]});
  if (!file) {
    return std::nullopt;
  }
  constexpr std::size_t kDepth = 4;
  const auto object = object_of(of, thread, maps, *file, kDepth);
  const std::vector<int> sharers = sharers_of(of, *file);
  Cause cause{.id = "shared-lock",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely,
              .sentence = "waits for a lock that processes share"};
  cause.evidence.push_back(
      fmt::format("a semaphore in shared memory, at {}", thread.place()));
  cause.evidence.push_back(
      fmt::format("{} other {} it", sharers.size(),
                  sharers.size() == 1 ? "process shares" : "processes share"));
  if (object && !object->lock.is_lock()) {
    // An Event, a Condition, the room in a queue: anybody may end that.
    cause.id = "shared-wait";
    cause.confidence = Confidence::Possible;
    cause.sentence =
        "waits until another process lets it go on (an Event, a Condition, a "
        "Semaphore or a full queue of multiprocessing)";
    for (const int pid : sharers) {
      cause.behind.push_back({pid, pid});
    }
  } else if (object && object->lock.count > 0) {
    tell_own(of, thread, object->lock, cause);
  } else if (object) {
    find_holder(of, *object, *file, sharers, cause);
  }
  return cause;
}

}  // namespace hangdbg::causes
