#include "diagnosis/waits/mpi_watch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <thread>

#include "inspector/jobs/torch/peers.h"
#include "tracee/net/connections.h"
#include "tracee/ptrace/execution_counter.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMpiWatchBetweenLooks{20};  // the kernel signals no hit

Result<std::vector<ExecutionCounter>> count_returns(
    const std::vector<MpiWait>& waits);
Result<bool> one_has_returned(const std::vector<ExecutionCounter>& counters);
bool all_are_there(const std::vector<MpiWait>& waits);
Result<std::uint64_t> bytes_moved(const std::vector<MpiWait>& waits,
                                  Deadline deadline);

}  // namespace

// A thread that was in the call before, is in it once counting began, and does
// not return, has been in one call all the time.
Result<MpiWatch> watch_mpi(const std::vector<MpiWait>& waits,
                           milliseconds time,
                           Deadline deadline) {
  const std::uint64_t before = TRY(bytes_moved(waits, deadline));
  if (deadline.left() <= time) {
    return fail(ErrorId::TimedOut, "there was no time to watch them");
  }
  const auto counters = TRY(count_returns(waits));
  MpiWatch watch{time, !all_are_there(waits)};
  const Deadline end = Deadline::in(time);
  while (!watch.went_on && !end.expired()) {
    std::this_thread::sleep_for(
        std::min<Deadline::Clock::duration>(kMpiWatchBetweenLooks, end.left()));
    watch.went_on = TRY(one_has_returned(counters));
  }
  if (!watch.went_on) {  // an ended thread never returns
    watch.went_on =
        !all_are_there(waits) || TRY(bytes_moved(waits, deadline)) != before;
  }
  return watch;
}

namespace {

Result<std::vector<ExecutionCounter>> count_returns(
    const std::vector<MpiWait>& waits) {
  std::vector<ExecutionCounter> counters;
  for (const MpiWait& wait : waits) {
    counters.push_back(
        TRY(ExecutionCounter::open(wait.thread.tid, wait.call.returns_to)));
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

// A sample of a running thread may fail.
bool is_there(const MpiWait& wait) {
  constexpr int kTries = 3;
  const ProcessSnapshot* const of = wait.system->snapshot(wait.thread.pid);
  const ThreadSnapshot* const thread =
      of == nullptr ? nullptr : of->thread(wait.thread.tid);
  for (int i = 0; thread != nullptr && i < kTries; ++i) {
    if (mpi_call(*of, *thread) == wait.call) {
      return true;
    }
  }
  return false;
}

bool all_are_there(const std::vector<MpiWait>& waits) {
  return std::ranges::all_of(waits, is_there);
}

// On their connections with each other, so far.
Result<std::uint64_t> bytes_moved(const std::vector<MpiWait>& waits,
                                  Deadline deadline) {
  std::vector<int> pids;
  std::ranges::transform(waits, std::back_inserter(pids),
                         [](const MpiWait& wait) { return wait.thread.pid; });
  const auto read = read_connections(pids, deadline);
  std::vector<RankConnections> ends;
  for (const auto& [pid, its] : read) {
    if (!its) {
      return std::unexpected(its.error());
    }
    if (its->why_no_progress) {
      return std::unexpected(*its->why_no_progress);
    }
    ends.push_back({static_cast<int>(ends.size()), &*its});
  }
  std::uint64_t bytes = 0;
  for (const PeerFlow& flow : match_peers(ends, 0)) {
    if (flow.from && flow.to) {
      bytes += flow.bytes.value_or(0);
    }
  }
  return bytes;
}

}  // namespace
}  // namespace hangdbg
