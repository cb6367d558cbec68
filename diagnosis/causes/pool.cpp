// A result of multiprocessing.Pool: its workers have the task, or it is lost. A
// killed worker is restarted, and its task is lost.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
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

// The workers of the Pool that has the awaited result; none if that tells none.
std::vector<int> workers_of(const ProcessSnapshot& of,
                            const PythonFrame& frame) {
  constexpr int kMost = 16;
  std::vector<int> pids;
  for (int i = 0; i < kMost; ++i) {
    const auto pid =
        of.number(frame, fmt::format("self._pool._pool[{}]._popen.pid", i));
    if (!pid) {
      break;
    }
    pids.push_back(static_cast<int>(*pid));
  }
  return pids;
}

bool worker_has_ended(int pid) {
  const auto status = read_status(pid);
  return !status || status->state == 'Z';
}

// An initializer that fails ends its worker, and the pool starts another one,
// for ever: where all have just been started, it is sampled a few more times.
// Workers that are to end after some tasks (maxtasksperchild) get on.
Found workers_end(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const PythonFrame& frame) {
  constexpr double kShort = 2;  // seconds
  constexpr int kLooks = 8;
  constexpr auto kApart = std::chrono::milliseconds(50);
  const std::vector<int> first = workers_of(of, frame);
  if (first.empty() ||
      of.shown(frame, "self._pool._maxtasksperchild") != "None" ||
      std::ranges::any_of(first, [](int pid) {
        return process_age_s(pid).value_or(0) >= kShort;
      })) {
    return std::nullopt;
  }
  for (int i = 0; !std::ranges::all_of(first, worker_has_ended); ++i) {
    if (i == kLooks || of.system.deadline().expired()) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kApart);
  }
  if (!still_waits(thread)) {
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
          fmt::format(
              "its workers of a moment ago have ended, process {} among "
              "them",
              first.front()),
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
