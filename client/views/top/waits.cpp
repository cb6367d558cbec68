#include "client/views/top/waits.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "client/views/evidence/wait_text.h"
#include "diagnosis/evidence/threads.h"

namespace hangdbg {
namespace {

constexpr auto kLookAtMost = std::chrono::seconds(2);
constexpr int kLookShare = 20;  // one part of the time, at most

}  // namespace

std::map<int, std::string> waits_of(const std::vector<int>& pids,
                                    Deadline deadline) {
  std::map<int, std::string> waits;
  for (const int pid : pids) {
    if (deadline.expired()) {
      break;
    }
    if (const auto seen = see_threads(pid, deadline)) {
      for (const SeenThread& thread : seen->threads) {
        waits[thread.id.tid] = wait_text(thread, seen->unseen_pipes);
      }
    }
  }
  return waits;
}

struct WaitsLooker::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> asked;
  std::optional<std::map<int, std::string>> found;
  bool over = false;
  bool busy = false;
  Deadline again = Deadline::in({});
};

// One that is held up, by memory that does not answer, is left behind.
WaitsLooker::WaitsLooker() : shared_(std::make_shared<Shared>()) {
  std::thread([shared = shared_] {
    std::unique_lock lock(shared->mutex);
    while (true) {
      shared->changed.wait(
          lock, [&] { return shared->over || !shared->asked.empty(); });
      if (shared->over) {
        return;
      }
      const auto pids = std::exchange(shared->asked, {});
      shared->busy = true;
      lock.unlock();
      const auto began = Deadline::Clock::now();
      auto found = waits_of(pids, Deadline::in(kLookAtMost));
      const auto cost = Deadline::Clock::now() - began;
      lock.lock();
      shared->busy = false;
      shared->found = std::move(found);
      shared->again = Deadline::in(cost * kLookShare);
    }
  }).detach();
}

WaitsLooker::~WaitsLooker() {
  const std::lock_guard lock(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_one();
}

void WaitsLooker::ask(const std::vector<int>& pids) {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->busy && shared_->again.expired()) {
    shared_->asked = pids;
    shared_->changed.notify_one();
  }
}

std::optional<std::map<int, std::string>> WaitsLooker::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->found, std::nullopt);
}

}  // namespace hangdbg
