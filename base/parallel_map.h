// The same work for many processes at once, the results in order.
//
// Some processes at a time, a thread of ours each. Work that is not done by the
// deadline is left behind: a process in D state can block its reader for ever.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/spawn_up_to.h"

namespace hangdbg {

// Whether threads of ours were left behind, ever. They may still read what a
// usual end takes from under them: the program must end by _exit, as main does.
inline std::atomic<bool> threads_left_behind = false;

// `done` is called on this thread, for one pid after the other; its result is
// empty if that did not come in time. Returns whether all did.
template <class R>
bool parallel_map(
    const std::vector<int>& pids,
    Deadline deadline,
    const std::function<Result<R>(int)>& work,
    const std::function<void(int, std::optional<Result<R>>)>& done) {
  if (pids.empty()) {
    return true;  // else it would look as if no thread could be started
  }
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<int> pids;
    std::function<Result<R>(int)> work;
    std::vector<std::optional<Result<R>>> results;
    std::size_t next = 0;
    std::size_t awaited = 0;  // the waiter is woken for that one alone
  };
  const auto shared = std::make_shared<Shared>();
  shared->pids = pids;
  shared->work = work;
  shared->results.resize(pids.size());
  // More than there are CPUs: some may be held up by what they read.
  const std::size_t workers = std::min<std::size_t>(
      pids.size(), 4 + std::thread::hardware_concurrency());
  const auto work_off = [shared] {
    std::unique_lock lock(shared->mutex);
    while (shared->next < shared->pids.size()) {
      const std::size_t index = shared->next++;
      lock.unlock();
      auto result = shared->work(shared->pids[index]);
      lock.lock();
      shared->results[index] = std::move(result);
      if (index == shared->awaited) {
        shared->changed.notify_one();
      }
    }
  };
  auto threads = spawn_up_to(workers, work_off);
  if (threads.empty()) {
    end_at(deadline);
    work_off();
    ::alarm(0);
  }
  bool all = true;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    std::unique_lock lock(shared->mutex);
    shared->awaited = i;
    all &= shared->changed.wait_until(
        lock, deadline.at(), [&] { return shared->results[i].has_value(); });
    auto result = std::exchange(shared->results[i], std::nullopt);
    lock.unlock();
    done(pids[i], std::move(result));
  }
  if (!all) {
    threads_left_behind = true;
  }
  for (std::thread& thread : threads) {
    all ? thread.join() : thread.detach();
  }
  return all;
}

}  // namespace hangdbg
