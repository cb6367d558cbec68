#include "diagnosis/waits/awaited_shared_lock.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "inspector/cpython/stacks/python_locals.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {
namespace {

// SemLockObject, behind its head.
struct SemLock {
  std::uint64_t handle;  // sem_t *
  std::uint64_t last_tid;
  std::int32_t count;  // how often this process has it
  std::int32_t maxvalue;
  std::int32_t kind;

  bool is_one() const { return maxvalue == 1; }  // else it counts
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

// What a thread waits for in futex(2), where that is shared.
std::optional<Shared> awaited_by(const ThreadSnapshot& thread,
                                 const Maps& maps) {
  const auto& call = thread.wait.call;
  return call.running || call.number != SYS_futex ||
                 (call.args[1] & FUTEX_PRIVATE_FLAG) != 0
             ? std::nullopt
             : shared_mapping(maps, Address{call.args[0]});
}

bool maps_it(const Maps& maps, const Shared& file) {
  return std::ranges::any_of(maps, [&](const Mapping& one) {
    return one.inode == file.inode && one.device == file.device;
  });
}

struct Object {
  Address at;
  SemLock lock;
  bool is_lock;
};

std::optional<SemLock> lock_at(const ProcessSnapshot& of, Address object) {
  const auto lock =
      of.memory().read_value<SemLock>(object + of.objects().at().object_size);
  return lock ? std::optional(*lock) : std::nullopt;
}

// The semaphore of a Queue(1) has the values of a Lock, and is released by
// other threads than the taker. `path`: "lock._semlock".
bool is_bounded_semaphore(const ProcessSnapshot& of,
                          const PythonFrame& frame,
                          std::string_view path) {
  constexpr std::string_view kAttribute = "._semlock";
  if (!path.ends_with(kAttribute)) {
    return false;
  }
  path.remove_suffix(kAttribute.size());
  const auto object = of.object(frame, path);
  const auto type =
      object ? of.objects().type_of(*object) : std::unexpected(Error());
  return type && (*type)->name == "BoundedSemaphore";
}

// By the names that programs and multiprocessing's classes use for it.
std::optional<Object> object_of(const ProcessSnapshot& of,
                                const ThreadSnapshot& thread,
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
    of.objects().allow_reads();
    auto variables = read_locals(of.objects(), frame.address, frame.code);
    if (!variables) {
      continue;
    }
    variables->resize(std::min(variables->size(), kMostVariables));
    for (const Variable& variable : *variables) {
      for (const std::string_view attribute : kAttributes) {
        const std::string path = fmt::format("{}{}", variable.name, attribute);
        const auto object = attribute.empty() ? std::optional(variable.object)
                                              : of.object(frame, path);
        const auto lock = object ? lock_at(of, *object) : std::nullopt;
        if (lock && shared_mapping(maps, Address{lock->handle}) == file) {
          return Object{
              *object, *lock,
              lock->is_one() && !is_bounded_semaphore(of, frame, path)};
        }
      }
    }
  }
  return {};
}

// Those of other users have it by their parents alone: it has mode 0600.
bool may_share_it(const ProcessSnapshot& of, int pid, int parent) {
  return pid == of.status.ppid || parent == of.status.ppid || parent == of.pid;
}

struct Sharers {
  std::vector<int> pids;
  bool all_seen = true;
};

// Of all processes, for a relative may have another parent by now, and a fork
// server, which does not share it, may stand between two that do.
Sharers sharers_of(const ProcessSnapshot& of, const Shared& file) {
  Sharers found;
  for (const auto& [parent, pid] : of.system.children()) {
    if (pid == of.pid) {
      continue;
    }
    if (of.system.deadline().expired()) {
      found.all_seen = false;
      break;
    }
    const auto maps = read_maps(pid);
    if (maps && maps_it(*maps, file)) {
      found.pids.push_back(pid);
    } else if (!maps && maps.error().id != ErrorId::NoSuchProcess) {
      found.all_seen = found.all_seen && !may_share_it(of, pid, parent);
    }
  }
  return found;
}

bool waits_for(const ProcessSnapshot& of, const Shared& file, int pid) {
  const ProcessSnapshot* const other = of.system.snapshot(pid);
  const ThreadSnapshot* const main =
      other != nullptr ? other->thread(pid) : nullptr;
  return main != nullptr && awaited_by(*main, maps_of(pid)) == file;
}

// How often that process holds it. None: unknown.
std::optional<int> count_in(const ProcessSnapshot& of,
                            const Object& object,
                            const Shared& file,
                            int pid) {
  if (of.forked_from(pid)) {
    const auto lock = LiveMemory(pid).read_value<SemLock>(
        object.at + of.objects().at().object_size);
    return lock && lock->handle == object.lock.handle
               ? std::optional(lock->count)
               : std::nullopt;
  }
  const ProcessSnapshot* const other = of.system.snapshot(pid);
  if (other == nullptr || !other->is_python()) {
    return {};
  }
  const Maps maps = maps_of(pid);
  for (const ThreadSnapshot* const one : other->python_threads()) {
    constexpr std::size_t kDepth = 20;
    if (const auto its = object_of(*other, *one, maps, file, kDepth)) {
      return its->lock.count;
    }
  }
  return {};
}

}  // namespace

std::optional<AwaitedSharedLock> awaited_shared_lock(
    const ProcessSnapshot& of,
    const ThreadSnapshot& thread) {
  if (thread.wait.syscall != "futex" || !of.is_python() || of.memory_left) {
    return std::nullopt;
  }
  const Maps maps = maps_of(of.pid);
  const auto file = awaited_by(thread, maps);
  if (!file) {
    return std::nullopt;
  }
  Sharers sharers = sharers_of(of, *file);
  AwaitedSharedLock awaited{.device = file->device,
                            .inode = file->inode,
                            .sharers = std::move(sharers.pids),
                            .all_told = sharers.all_seen};
  constexpr std::size_t kDepth = 4;
  const auto object = object_of(of, thread, maps, *file, kDepth);
  if (!object) {
    return awaited;
  }
  awaited.known = true;
  awaited.is_lock = object->is_lock;
  if (!awaited.is_lock) {
    of.system.take_snapshots(awaited.sharers);
    std::ranges::copy_if(awaited.sharers, std::back_inserter(awaited.waiting),
                         [&](int pid) { return waits_for(of, *file, pid); });
    return awaited;
  }
  awaited.own_count = object->lock.count;
  if (awaited.own_count > 0) {
    awaited.own_holder = of.by_ident(object->lock.last_tid);
    return awaited;
  }
  for (const int pid : awaited.sharers) {
    const auto count = count_in(of, *object, *file, pid);
    awaited.all_told = awaited.all_told && count.has_value();
    if (count.value_or(0) > 0) {
      awaited.holders.push_back(pid);
    }
  }
  return awaited;
}

}  // namespace hangdbg
