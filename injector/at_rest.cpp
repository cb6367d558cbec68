#include "injector/at_rest.h"

#include <chrono>
#include <utility>
#include <vector>

#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr double kWhile = 1;  // seconds

std::optional<WaitSample> wait_of(int pid, int tid) {
  auto wait = sample_wait(pid, tid);
  return wait ? std::optional(*std::move(wait)) : std::nullopt;
}

std::vector<int> tasks_of(int pid) {
  return list_tasks(pid).value_or(std::vector<int>());
}

}  // namespace

void AtRest::before_stop(int tid, const std::optional<WaitSample>& wait) {
  if (!calls_) {
    stopped_.emplace(tid, wait);
  }
}

void AtRest::look() {
  if (calls_) {
    return;
  }
  calls_.emplace();
  bool for_a_while = true;
  for (const int tid : tasks_of(pid_)) {
    const auto wait = before(tid);
    if (!wait || wait->state != 'S') {
      calls_->clear();
      return;
    }
    for_a_while &= wait->asleep_s.value_or(0) >= kWhile;
    (*calls_)[tid] = wait->call;
  }
  if (!for_a_while) {
    while_over_ = Deadline::in(std::chrono::seconds(1));
  }
}

bool AtRest::is_still_so() const {
  if (!calls_ || calls_->empty() || !while_over_.expired()) {
    return false;
  }
  Calls now;
  for (const int tid : tasks_of(pid_)) {
    const auto wait = wait_of(pid_, tid);
    if (!wait || wait->state != 'S') {
      return false;
    }
    now[tid] = wait->call;
  }
  return now == *calls_;
}

std::optional<WaitSample> AtRest::before(int tid) const {
  const auto stopped = stopped_.find(tid);
  return stopped == stopped_.end() ? wait_of(pid_, tid) : stopped->second;
}

}  // namespace hangdbg
