// LiveNodes: one command that runs on several nodes at the same time, is given
// orders, and is heard as it speaks. hangdbg must be there already: the
// standard input is for the orders.
//
// Each second the nodes are told that we are still there; without that, and at
// the end of the stream, each ends its command by itself
// (nodes/answering/live.h).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "nodes/asking/connection.h"
#include "nodes/launchers/launcher.h"
#include "nodes/processes/interrupt_fd.h"

namespace hangdbg {

// How long the other side may be silent.
struct LiveLimits {
  std::chrono::milliseconds to_begin{20'000};
  std::chrono::milliseconds silence{20'000};
};

class LiveNodes {
 public:
  // `nodes`: those of the launcher that are to run it.
  LiveNodes(const Launcher& launcher,
            const std::vector<std::string>& nodes,
            std::vector<std::string> words,
            std::vector<std::string> typed,
            const LiveLimits& limits = {});
  // Ends them.
  ~LiveNodes();
  LiveNodes(const LiveNodes&) = delete;
  LiveNodes& operator=(const LiveNodes&) = delete;

  // A line to all.
  void tell(std::string_view order);
  // The same, and then Ctrl-C for the commands.
  void interrupt(std::string_view order);
  // Readable when Ctrl-C has come: hear() is to be called.
  int interrupt_fd() const { return interrupt_.get(); }

  struct Said {
    std::string node;
    std::string line;
  };
  // What was said by the deadline, once there is anything. Errors: Interrupted;
  // else why a node, which the message names, does not continue: NodeFailed,
  // TimedOut, ChannelClosed, BadMessage.
  Result<std::vector<Said>> hear(Deadline deadline);

  // The orders end, and the commands with them. A node that has not ended by
  // then is ended by its launcher.
  void end(Deadline deadline);

 private:
  void wait(Deadline deadline);
  void read();
  void close(Connection& connection);
  Status check() const;

  LiveLimits limits_;
  std::string program_;
  std::vector<std::unique_ptr<OneAnswer>> answers_;
  std::vector<std::unique_ptr<Connection>> connections_;
  Status started_;
  Deadline next_sign_ = Deadline::in({});
  Deadline to_begin_;
  InterruptFd interrupt_;
};

}  // namespace hangdbg
