#include "diagnosis/waits/awaited_mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <array>
#include <string_view>

#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

struct Mutex {
  std::int32_t lock;  // 2: held, with waiters
  std::uint32_t count;
  std::int32_t owner;
  std::uint32_t users;
  std::int32_t kind;
};

std::string_view type_of(std::int32_t kind) {
  constexpr std::array<std::string_view, 4> kTypes = {
      "normal", "recursive", "error-checking", "adaptive"};
  return kTypes[static_cast<std::size_t>(kind & 3)];
}

}  // namespace

std::optional<AwaitedMutex> awaited_mutex(const ProcessSnapshot& of,
                                          const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  const auto operation = call.args[1] & FUTEX_CMD_MASK;
  constexpr std::uint64_t kHeldAndAwaited = 2;
  if (call.running || call.number != SYS_futex || operation != FUTEX_WAIT ||
      call.args[2] != kHeldAndAwaited) {
    return {};
  }
  const Address at{call.args[0]};
  const auto mutex = of.memory().read_value<Mutex>(at);
  // Locks without an owner, as malloc's, are followed by arbitrary data.
  constexpr std::int32_t kKinds = 0x3ff;
  if (!mutex || mutex->owner <= 0 || mutex->users == 0 ||
      mutex->users >= 100'000 || (mutex->kind & ~kKinds) != 0) {
    return {};
  }
  const auto tasks = TaskIds::read(of.pid);
  if (!tasks) {
    return {};
  }
  return AwaitedMutex{
      .address = at,
      .owner = mutex->owner,
      .type = std::string(type_of(mutex->kind)),
      .tid = tasks->outer(static_cast<std::uint64_t>(mutex->owner))};
}

std::optional<int> owner_in_parent(const ProcessSnapshot& of,
                                   const AwaitedMutex& mutex) {
  const int parent = of.status.ppid;
  const auto theirs =
      of.forked_from(parent) ? TaskIds::read(parent) : std::unexpected(Error());
  return theirs ? theirs->outer(static_cast<std::uint64_t>(mutex.owner))
                : std::nullopt;
}

}  // namespace hangdbg
