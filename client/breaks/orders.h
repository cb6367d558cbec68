// What the asking side of `break --via` orders this node to do, and when its
// Ctrl-C is let in.
#pragma once

#include <csignal>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "protocol/reports/break_on_nodes.h"

namespace hangdbg {

// On standard input, one line after the other.
class OrderReader {
 public:
  OrderReader();

  bool over() const { return over_; }
  // Nothing: none is there.
  std::optional<reports::BreakOrder> next();
  // The command of that number is to end.
  bool is_interrupted(std::int64_t number);

 private:
  void read();
  void take(const std::string& line);

  std::string text_;
  std::deque<reports::BreakOrder> orders_;
  std::int64_t interrupted_ = 0;
  bool over_ = false;
};

// Ctrl-C is for the command that runs. While this lives, one that comes outside
// run() waits; what has waited was for an earlier command, unless the orders
// say that it is for this one.
class CommandInterrupts {
 public:
  CommandInterrupts();
  ~CommandInterrupts();
  CommandInterrupts(const CommandInterrupts&) = delete;
  CommandInterrupts& operator=(const CommandInterrupts&) = delete;

  void run(const std::function<bool()>& is_interrupted,
           const std::function<void()>& command);

 private:
  void forget() const;

  sigset_t ours_{}, before_{};
};

}  // namespace hangdbg
