// The listening side of one pair (wire.h). Any client may connect: one without
// a greeting of this probe gets no byte.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "nodes/probing/exchange.h"

namespace hangdbg {

class ProbeVisitor {
 public:
  ProbeVisitor(Fd socket, const ProbeParty& party);

  void go_on();
  bool over() const { return !socket_; }
  // Which node has been here and has closed, with all that it had to find out.
  std::optional<int> done() const;
  int fd() const { return socket_.get(); }
  short events() const;

 private:
  bool receive();
  void greet();

  Fd socket_;
  const ProbeParty* party_;
  std::string greeting_;
  std::optional<int> number_;  // once it has greeted
  std::size_t received_ = 0, sent_ = 0;
};

}  // namespace hangdbg
