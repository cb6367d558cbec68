#include "diagnosis/evidence/deadlock_cycles.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace hangdbg {
namespace {

constexpr std::size_t kLockCirclesMostLinks = 50;

// What each thread waits for, read once.
class Waits {
 public:
  Waits(const ProcessSnapshot& of, const LockReader& locks)
      : of_(of), locks_(locks) {}

  const std::optional<SeenLock>& of(ThreadId id) {
    const auto [at, fresh] = known_.try_emplace(id);
    if (fresh) {
      at->second = read(id);
    }
    return at->second;
  }

 private:
  // The known owner in another process is main, or its thread is unknown: then
  // main is used.
  std::optional<SeenLock> read(ThreadId id) {
    const ProcessSnapshot* const where =
        id.pid == of_.pid ? &of_ : snapshot(id.pid);
    const ThreadSnapshot* const thread =
        where != nullptr ? where->thread(id.tid) : nullptr;
    if (thread == nullptr) {
      return std::nullopt;
    }
    return where == &of_ ? locks_.awaited_by(*thread)
                         : LockReader(*where).awaited_by(*thread);
  }

  const ProcessSnapshot* snapshot(int pid) {
    SystemSnapshot& system = of_.system;
    if (system.deadline().expired()) {
      return nullptr;
    }
    return system
        .snapshot_before(pid,
                         system.deadline().capped(system.deadline().left() / 4))
        .value_or(nullptr);
  }

  const ProcessSnapshot& of_;
  const LockReader& locks_;
  std::map<ThreadId, std::optional<SeenLock>> known_;
};

struct CircleSearch {
  Waits waits;
  std::vector<DeadlockCycle::WaitEdge> path;
  std::set<ThreadId> done;
  std::vector<DeadlockCycle> circles;

  void follow(ThreadId id, const std::string& who) {
    const auto met = std::ranges::find(path, id, &DeadlockCycle::WaitEdge::id);
    if (met != path.end()) {
      circles.push_back({{met, path.end()}});
      return;
    }
    if (path.size() > kLockCirclesMostLinks || !done.insert(id).second) {
      return;
    }
    const auto lock = waits.of(id);
    if (!lock) {
      return;
    }
    path.push_back({id, who, describe(*lock)});
    for (const LockOwner& owner : lock->owners) {
      follow(owner.id, owner.who);
    }
    path.pop_back();
  }
};

}  // namespace

std::vector<DeadlockCycle> deadlock_cycles(const ProcessSnapshot& of,
                                           const LockReader& locks) {
  CircleSearch search{.waits = Waits(of, locks)};
  for (const ThreadSnapshot& thread : of.threads) {
    search.follow(thread.id, thread.who());
  }
  return std::move(search.circles);
}

}  // namespace hangdbg
