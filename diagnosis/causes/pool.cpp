// A result of multiprocessing.Pool: its workers have the task, or it is lost. A
// killed worker is restarted, and its task is lost.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/pools.h"
#include "diagnosis/waits/library_waits.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/process_stat.h"

namespace hangdbg::causes {
namespace {

constexpr std::string_view kPoolFile = "/multiprocessing/pool.py";

// The workers of a ThreadPool are threads of this process.
Found thread_pool(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  Cause cause{.id = CauseId::PoolResult,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely,
              .evidence = {thread.place()},
              .any_unblocks = true};
  std::size_t count = 0;
  for (const ThreadSnapshot* const one : of.python_threads()) {
    if (one->find("worker", kPoolFile) != nullptr) {
      ++count;
      if (!is_worker_loop(*one)) {
        cause.blocked_by.push_back(one->id);
      }
    }
  }
  if (cause.blocked_by.empty()) {
    return std::nullopt;
  }
  cause.summary =
      fmt::format("waits for a result of a ThreadPool: of {} threads {} {}",
                  count, cause.blocked_by.size(),
                  cause.blocked_by.size() == 1 ? "is at work" : "are at work");
  return cause;
}

// The workers that the Pool that has the awaited result has now; none if that
// tells none.
std::vector<std::int64_t> workers_now(const ProcessSnapshot& of,
                                      const PythonFrame& frame) {
  constexpr int kMost = 16;
  return of.numbers_now(
      frame,
      [](int i) { return fmt::format("self._pool._pool[{}]._popen.pid", i); },
      kMost);
}

bool worker_has_ended(std::int64_t pid) {
  const auto status = read_status(static_cast<int>(pid));
  return !status || status->state == 'Z';
}

// Not long enough to start a process. Where we stop a thread as a child ends,
// it is woken for some 20 microseconds (ptrace(2): no signal is ignored then).
bool has_hardly_run(const ThreadSnapshot& thread) {
  constexpr std::uint64_t kHardly = 300'000;  // ns
  const auto now = sample_wait(thread.id.pid, thread.id.tid);
  return now && now->state == 'S' &&
         (now->runs == thread.wait.runs ||
          (thread.wait.runs.nanoseconds > 0 &&
           now->runs.nanoseconds - thread.wait.runs.nanoseconds < kHardly));
}

// An initializer that fails ends its worker, and the pool starts another one,
// for ever: where all have just been started, it is sampled a few more times,
// and more often where some of them have ended. The list is empty while the
// pool is at it. Workers that are to end after some tasks (maxtasksperchild)
// get on.
Found workers_end(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const PythonFrame& frame) {
  constexpr double kShort = 2;  // seconds
  constexpr int kLooks = 8;
  constexpr int kMostLooks = 30;
  constexpr auto kApart = std::chrono::milliseconds(50);
  if (of.shown(frame, "self._pool._maxtasksperchild") != "None") {
    return std::nullopt;
  }
  std::vector<std::int64_t> workers;
  int generations = 0;  // that have ended
  for (int i = 0; generations < 2; ++i) {
    if (workers.empty()) {
      workers = workers_now(of, frame);
    }
    if (std::ranges::any_of(workers, [](std::int64_t pid) {
          return process_age_s(static_cast<int>(pid)).value_or(0) >= kShort;
        })) {
      return std::nullopt;
    }
    const auto ended = std::ranges::count_if(workers, worker_has_ended);
    if (!workers.empty() && std::cmp_equal(ended, workers.size())) {
      ++generations;
      workers.clear();
    }
    if (i == (ended + generations > 0 ? kMostLooks : kLooks) ||
        of.system.deadline().expired()) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kApart);
  }
  if (!has_hardly_run(thread)) {
    return std::nullopt;  // a program may end one pool, and begin another
  }
  return Cause{
      .id = CauseId::PoolResult,
      .progress = Progress::Blocked,
      .confidence = Confidence::Likely,
      .summary =
          "waits for a result of a multiprocessing.Pool whose workers "
          "end, and are started anew, again and again",
      .evidence = {
          thread.place(),
          "all its workers ended, those that came after them, too",
          "maxtasksperchild is not set, so a worker ends if its initializer "
          "fails, or if it is killed"}};
}

}  // namespace

Found pool(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  constexpr std::size_t kDepth = 5;  // ApplyResult, Event, Condition
  if (!of.is_python() || thread.wait.syscall != "futex") {
    return std::nullopt;
  }
  const PythonFrame* frame = nullptr;
  for (const char* const function : {"get", "wait", "next"}) {
    const PythonFrame* const one = thread.find(function, kPoolFile, kDepth);
    frame = one != nullptr ? one : frame;
  }
  if (frame == nullptr) {
    return std::nullopt;
  }
  if (auto again = workers_end(of, thread, *frame)) {
    return again;
  }
  const PoolWorkers workers = pool_workers(of, "worker", kPoolFile);
  const std::size_t count = workers.idle + workers.busy.size();
  if (count == 0) {
    return thread_pool(of, thread);
  }
  Cause cause{.id = CauseId::PoolResult,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.evidence.push_back(thread.place());
  cause.evidence.push_back(
      fmt::format("{} of {} workers have work", workers.busy.size(), count));
  if (!workers.busy.empty()) {
    cause.blocked_by = workers.busy;
    cause.summary = fmt::format(
        "waits for a result of a multiprocessing.Pool: of {} workers {} {}",
        count, workers.busy.size(),
        workers.busy.size() == 1 ? "is at work" : "are at work");
    return cause;
  }
  if (!still_waits(thread)) {
    return std::nullopt;
  }
  cause.id = CauseId::TaskLost;
  cause.summary = fmt::format(
      "waits for a result of a multiprocessing.Pool that none of its {} "
      "workers is at: all wait for work, so the one that had it was killed",
      count);
  cause.evidence.push_back(
      "a pool starts a new worker for one that has ended, without its task");
  cause.next.push_back(
      {"dmesg | grep -i oom", "whether the kernel killed it for its memory"});
  cause.next.push_back({fmt::format("kill {}", of.pid),
                        "the result never comes; concurrent.futures raises "
                        "BrokenProcessPool instead"});
  return cause;
}

}  // namespace hangdbg::causes
