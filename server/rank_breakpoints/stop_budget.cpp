#include "server/rank_breakpoints/stop_budget.h"

#include <algorithm>

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr auto kStopBudgetBetweenLooks = milliseconds(300);

}  // namespace

std::optional<StopBudget::Limit> StopBudget::watch(int pid) {
  return watched_.insert(pid).second ? std::optional(Limit{pid, longest_})
                                     : std::nullopt;
}

void StopBudget::forget(int pid) {
  watched_.erase(pid);
  told_.erase(pid);
}

std::vector<StopBudget::Limit> StopBudget::follow(
    const std::set<int>& standing) {
  stands_ = !standing.empty();
  if (!stands_) {
    told_.clear();
    return {};
  }
  left_.reset();
  // A process that stops again is told the rest.
  std::erase_if(told_, [&](int pid) { return !standing.contains(pid); });
  if (!end_) {
    end_ = Deadline::in(longest_);
  }
  std::vector<Limit> limits;
  for (const int pid : standing) {
    if (told_.insert(pid).second) {
      limits.push_back(
          {pid, std::max(milliseconds(end_->left_ms()), milliseconds(1))});
    }
  }
  return limits;
}

StopBudget::Ask StopBudget::wants() const {
  return !end_ || stands_       ? Ask::Nothing
         : !left_               ? Ask::Begin
         : next_look_.expired() ? Ask::Look
                                : Ask::Nothing;
}

CollectivesWithOriginalTimeout& StopBudget::left() {
  return left_ ? *left_ : left_.emplace();
}

std::vector<StopBudget::Limit> StopBudget::asked() {
  next_look_ = Deadline::in(kStopBudgetBetweenLooks);
  if (!left().pending().empty()) {
    return {};
  }
  left_.reset();
  end_.reset();
  told_.clear();
  // Else the next thread to be suspended resumes at once.
  std::vector<Limit> limits;
  for (const int pid : watched_) {
    limits.push_back({pid, longest_});
  }
  return limits;
}

bool StopBudget::shorten(milliseconds left) {
  if (!end_ || end_->left() <= left) {
    return false;
  }
  end_ = Deadline::in(left);
  told_.clear();
  return true;
}

}  // namespace hangdbg
