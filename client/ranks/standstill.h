// Standstill: how long threads of a job's ranks may stand, all together: from
// the first that comes to stand until none does. The other ranks wait for
// these, and their collectives die of it some time.
//
// The agents are told how long, so that a thread goes on also when we do
// nothing any more.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "server/session.h"

namespace hangdbg {

class Standstill {
 public:
  explicit Standstill(std::chrono::milliseconds longest) : longest_(longest) {}

  // A session in which threads may come to stand from now on. Again: nothing.
  Status watch(Session& session, Deadline deadline);

  struct Member {
    Session* session;
    bool stands;
  };
  // To be told again and again who stands.
  void follow(const std::vector<Member>& members, Deadline deadline);

  // It is to end so soon; whether it would not have before.
  bool shorten(std::chrono::milliseconds left);

  std::chrono::milliseconds longest() const { return longest_; }
  // Nothing: none stands.
  std::optional<Deadline> end() const { return end_; }

 private:
  std::chrono::milliseconds longest_;
  std::optional<Deadline> end_;
  std::set<Session*> watched_;
  std::set<Session*> told_;  // of them, when it ends
};

}  // namespace hangdbg
