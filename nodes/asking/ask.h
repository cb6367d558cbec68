// One command, run on all nodes at once: starts the launchers, reads what
// comes back, sends the program where it is not, and gives up each node at its
// own deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {

struct NodeQuestion {
  std::vector<std::string> words;          // behind "hangdbg"
  std::vector<std::string> typed;          // for hints
  std::chrono::duration<double> time{10};  // that the command may take
  bool together = false;  // all nodes at one time, however many they are
};

struct NodeAnswer {
  std::string node;  // as the list of nodes has it
  std::string host;  // as it calls itself; "" if it has not spoken
  std::string out, err;
  int code = 0;
  std::string error;  // the name of the command's error, if it has one
  std::optional<Error> failed;     // why it has not answered
  std::vector<std::string> noise;  // what else came before the answer
};

struct NodesProgress {
  std::size_t all = 0, answered = 0, failed = 0;
  std::size_t sending = 0;           // nodes to which the program is sent
  std::vector<std::string> waiting;  // nodes of which nothing has come yet
};

// `take`: each node once, as it comes. `progress`: now and then. Errors:
// System; Interrupted, by Ctrl-C.
Status ask_nodes(const Launcher& launcher,
                 const NodeQuestion& question,
                 const std::function<void(NodeAnswer)>& take,
                 const std::function<void(const NodesProgress&)>& progress);

}  // namespace hangdbg
