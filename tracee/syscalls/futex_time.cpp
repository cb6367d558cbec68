#include "tracee/syscalls/futex_time.h"

#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// The clock by which the operation has its moment; none: it has a duration.
std::optional<clockid_t> clock_of(std::uint64_t operation) {
  const bool real = (operation & FUTEX_CLOCK_REALTIME) != 0;
  switch (operation & static_cast<std::uint32_t>(FUTEX_CMD_MASK)) {
    case FUTEX_WAIT:
      return {};
    case FUTEX_LOCK_PI:
      return CLOCK_REALTIME;
    default:
      return real ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  }
}

bool has_our_clock(int pid, clockid_t clock) {
  if (clock == CLOCK_REALTIME) {
    return true;
  }
  const auto theirs = read_proc_link(pid, "ns/time");
  const auto ours = read_proc_link(::getpid(), "ns/time");
  return theirs && ours ? *theirs == *ours : !theirs && !ours;
}

}  // namespace

std::optional<FutexTime> futex_time_left(std::optional<int> pid,
                                         const MemoryReader& memory,
                                         const TaskSyscall& call) {
  const auto until =
      call.args[3] == 0
          ? std::nullopt
          : std::optional(memory.read_value<::timespec>(Address{call.args[3]}));
  if (!until || !*until) {
    return {};
  }
  const auto clock = clock_of(call.args[1]);
  ::timespec now{};
  if (clock) {
    if (!pid || !has_our_clock(*pid, *clock)) {
      return {};
    }
    ::clock_gettime(*clock, &now);
  }
  return FutexTime{
      static_cast<double>((*until)->tv_sec - now.tv_sec) +
          static_cast<double>((*until)->tv_nsec - now.tv_nsec) / 1e9,
      clock.has_value()};
}

}  // namespace hangdbg
