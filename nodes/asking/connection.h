// Connection: one process of a launcher, and the nodes that it carries.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "nodes/asking/one_answer.h"
#include "nodes/frames/frame.h"
#include "nodes/processes/child.h"

namespace hangdbg {

class Connection {
 public:
  Connection(NodeChild child,
             std::vector<OneAnswer*> nodes,
             std::string launcher,
             Deadline deadline);

  NodeChild& child() { return child_; }
  Deadline deadline() const { return deadline_; }
  bool over() const;

  // What has come by now. `program`: the ID that is expected.
  void read(const std::string& program);
  // A node of it has requested the program, which is not sent yet.
  bool wants_program() const;
  // Sends it, and then the end of the stream; may take until `deadline`.
  void send(std::string_view program, Deadline deadline);
  bool sending() const {
    return child_.in && !(left_to_send_.empty() && orders_.empty());
  }
  void write();
  // To all its nodes; the stream stays open.
  void order(std::string_view text);

  // The process has ended with `code`, or time is up (no code).
  void end(std::optional<int> code, std::string_view time);

 private:
  void take(const std::vector<FromNode>& all, const std::string& program);
  OneAnswer* node_of(const std::string& label, const Frame* frame);
  std::string last_words(const OneAnswer& node) const;

  NodeChild child_;
  std::vector<OneAnswer*> nodes_;
  std::map<std::string, OneAnswer*> by_name_, by_stream_;
  std::string launcher_;
  Deadline deadline_;
  FrameReader reader_;
  std::string errors_;  // what the launcher has said
  std::string_view left_to_send_;
  std::string orders_;  // that could not be written yet
  bool sent_ = false;
};

}  // namespace hangdbg
