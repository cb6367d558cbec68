// Standstill: how long threads of a job's ranks may stand, all together. The
// other ranks wait for these, and their collectives die of it some time. So it
// begins when the first comes to stand, and is over when none does and nobody
// is left in a collective that began meanwhile: a rank that goes on and stops
// again before it has come there has the rest of the time.
//
// The agents are told how long, so that a thread goes on also when we do
// nothing any more.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "server/old_collectives.h"
#include "server/session.h"

namespace hangdbg {

class Standstill {
 public:
  explicit Standstill(std::chrono::milliseconds longest) : longest_(longest) {}

  // A session in which threads may come to stand from now on. Again: nothing.
  Status watch(Session& session, Deadline deadline);
  // One that ends.
  void forget(Session& session);

  struct Member {
    Session* session;
    bool stands;
  };
  // Asks all ranks how far they are.
  enum class Ask { Begin, Look };
  using Collectives = std::function<void(Ask, OldCollectives&)>;
  // To be told again and again who stands.
  void follow(const std::vector<Member>& members,
              const Collectives& ask,
              Deadline deadline);

  // It is to end so soon; whether it would not have before.
  bool shorten(std::chrono::milliseconds left);

  // Nothing: none stands.
  std::optional<Deadline> end() const { return end_; }

 private:
  void limit(const std::vector<Member>& members, Deadline deadline);
  void let_end(const Collectives& ask, Deadline deadline);

  std::chrono::milliseconds longest_;
  std::optional<Deadline> end_;
  std::set<Session*> watched_;
  std::set<Session*> told_;  // of them, when it ends
  // Since none stands: the collectives in which somebody may wait.
  std::optional<OldCollectives> left_;
  Deadline next_look_ = Deadline::in({});
};

}  // namespace hangdbg
