#include "inspector/diagnosis/mpi_watch.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <thread>

#include "inspector/connections.h"
#include "tracee/execution_counter.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks{20};  // the kernel wakes nobody for a hit

Result<std::vector<ExecutionCounter>> count_returns(
    const std::vector<MpiWait>& waits) {
  std::vector<ExecutionCounter> counters;
  for (const MpiWait& wait : waits) {
    counters.push_back(TRY(ExecutionCounter::open(wait.tid, wait.returns_to)));
  }
  return counters;
}

Result<bool> one_has_returned(const std::vector<ExecutionCounter>& counters) {
  for (const ExecutionCounter& counter : counters) {
    if (TRY(counter.count()) > 0) {
      return true;
    }
  }
  return false;
}

// Bytes that their connections have had so far, in both directions.
std::uint64_t bytes_moved(const std::vector<MpiWait>& waits,
                          Deadline deadline) {
  std::vector<int> pids;
  std::ranges::transform(waits, std::back_inserter(pids), &MpiWait::pid);
  std::uint64_t bytes = 0;
  for (const auto& [pid, its] : read_connections(pids, deadline)) {
    for (const Connection& one :
         its ? its->connections : decltype(its->connections)()) {
      if (const auto& progress = one.socket.progress) {
        bytes +=
            progress->acknowledged.value_or(0) + progress->received.value_or(0);
      }
    }
  }
  return bytes;
}

}  // namespace

Result<MpiWatch> watch_mpi(const std::vector<MpiWait>& waits,
                           milliseconds time,
                           Deadline deadline) {
  const auto counters = TRY(count_returns(waits));
  const std::uint64_t before = bytes_moved(waits, deadline);
  const Deadline end = deadline.capped(time);
  while (!TRY(one_has_returned(counters))) {
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut, "there was no time to watch them");
    }
    if (end.expired()) {
      return MpiWatch{time, bytes_moved(waits, deadline) != before};
    }
    std::this_thread::sleep_for(
        std::min<Deadline::Clock::duration>(kBetweenLooks, end.left()));
  }
  return MpiWatch{time, true};
}

}  // namespace hangdbg
