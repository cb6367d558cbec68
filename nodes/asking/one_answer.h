// One node's answer, put together from its frames. The node may be hostile:
// frames out of order, of another stream, or too many end it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "nodes/asking/ask.h"
#include "nodes/frames/frame.h"

namespace hangdbg {

class OneAnswer {
 public:
  explicit OneAnswer(const std::string& node) : node_(node) {
    answer_.node = node;
  }

  // Of `program`: the ID that is expected.
  void take(const Frame& frame, const std::string& program);
  void take(const NoiseLine& noise);
  void break_off(std::string why);  // what it sends is no answer
  // There is nothing more to come: the launcher has ended, or time is up.
  void end(Error why);

  bool over() const { return over_; }
  bool spoke() const { return stream_.has_value(); }
  bool needs_program() const { return needs_program_; }
  void program_sent() {
    needs_program_ = false;
    was_sent_ = true;
  }
  const std::string& node() const { return node_; }
  // Of a live one: when it was heard last, and what it has said since.
  Deadline::Clock::time_point heard() const { return heard_; }
  std::vector<std::string> take_lines();
  // It is over, and was not handed on yet.
  bool ready() const { return over_ && !needs_program_ && !handed_on_; }
  NodeAnswer hand_on() {
    handed_on_ = true;
    return std::move(answer_);
  }

 private:
  void take_end(const Frame& frame);

  std::string node_;
  NodeAnswer answer_;
  std::optional<std::string> stream_;  // of its frames
  std::uint32_t next_ = 0;
  std::string packed_;
  std::string live_;
  Deadline::Clock::time_point heard_ = Deadline::Clock::now();
  bool needs_program_ = false;
  bool was_sent_ = false;
  bool over_ = false;
  bool handed_on_ = false;
};

}  // namespace hangdbg
