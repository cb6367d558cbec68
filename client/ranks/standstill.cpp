#include "client/ranks/standstill.h"

#include <algorithm>

#include "base/log.h"
#include "protocol/requests/limit.h"

namespace hangdbg {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(300);

Status tell(Session& session,
            std::chrono::milliseconds longest,
            Deadline deadline) {
  const auto told = session.call<dap::Limit>(
      {.milliseconds = std::max<std::int64_t>(longest.count(), 1)}, deadline);
  return told ? Status() : std::unexpected(told.error());
}

}  // namespace

Status Standstill::watch(Session& session, Deadline deadline) {
  if (watched_.contains(&session)) {
    return {};
  }
  TRY(session.need("engine", deadline));
  TRY(session.need("process_groups", deadline));
  TRY(tell(session, longest_, deadline));
  watched_.insert(&session);
  return {};
}

void Standstill::forget(Session& session) {
  watched_.erase(&session);
  told_.erase(&session);
}

void Standstill::follow(const std::vector<Member>& members,
                        const Collectives& ask,
                        Deadline deadline) {
  if (std::ranges::any_of(members, &Member::stands)) {
    limit(members, deadline);
  } else if (end_) {
    let_end(ask, deadline);
  }
}

void Standstill::limit(const std::vector<Member>& members, Deadline deadline) {
  left_.reset();
  if (!end_) {
    end_ = Deadline::in(longest_);
  }
  for (const auto& [session, stands] : members) {
    if (stands && !told_.contains(session) &&
        tell(*session, std::chrono::milliseconds(end_->left_ms()), deadline)) {
      told_.insert(session);
    }
  }
}

void Standstill::let_end(const Collectives& ask, Deadline deadline) {
  if (!left_) {
    ask(Ask::Begin, left_.emplace());
  } else if (next_look_.expired()) {
    ask(Ask::Look, *left_);
  } else {
    return;
  }
  next_look_ = Deadline::in(kBetweenLooks);
  if (!left_->pending().empty()) {
    return;
  }
  left_.reset();
  end_.reset();
  told_.clear();
  for (Session* const session : watched_) {
    // Else its next thread that comes to stand goes on at once.
    if (const Status told = tell(*session, longest_, deadline); !told) {
      log::warn(log::Area::Client, "no new limit: {}", told.error().text());
    }
  }
}

bool Standstill::shorten(std::chrono::milliseconds left) {
  if (!end_ || end_->left() <= left) {
    return false;
  }
  end_ = Deadline::in(left);
  told_.clear();
  return true;
}

}  // namespace hangdbg
