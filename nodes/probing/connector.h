// The connecting side of one pair (wire.h).
#pragma once

#include <chrono>
#include <string>

#include "base/deadline.h"
#include "base/fd.h"
#include "nodes/probing/exchange.h"

namespace hangdbg {

class ProbeConnector {
 public:
  ProbeConnector(const ProbeTarget& target, const ProbeParty& party)
      : target_(&target), party_(&party) {}

  // Continues as far as it can without waiting.
  void go_on();
  // Time is up: its state is its outcome.
  void give_up();

  bool over() const { return over_; }
  const ProbeTarget& target() const { return *target_; }
  const ProbeOutcome& outcome() const { return outcome_; }
  // What to poll for; -1: nothing.
  int fd() const { return socket_.get(); }
  short events() const;
  // When a refused one is to be tried again.
  Deadline again() const { return again_; }
  // One that is whole stays open until this.
  void close() { socket_.reset(); }

 private:
  enum class Stage { Idle, Connecting, Sending, AwaitingGreeting, Receiving };

  void start();
  void connected();
  void send();
  void receive();
  void end(Reach reach, int error = 0);
  void end_failed(int error);

  const ProbeTarget* target_;
  const ProbeParty* party_;
  Stage stage_ = Stage::Idle;
  bool over_ = false;
  ProbeOutcome outcome_;
  Fd socket_;
  Deadline again_ = Deadline::in({});
  Deadline::Clock::time_point began_;
  std::size_t sent_ = 0, received_ = 0;
  std::string greeting_;  // of the other side
};

}  // namespace hangdbg
