// A node's side: runs the requested command, and writes its output as frames.
// It ends when they have no reader any more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "nodes/frames/messages.h"

namespace hangdbg {

// In base64. Error: BadMessage.
Result<NodeRequest> read_request(const std::string& text);

// Instead of answering by frames: the command takes our place, with our
// terminal. Returns only if it cannot.
int become_command(const NodeRequest& request,
                   std::vector<std::string> variables);

// `variables`: of the command's environment. Returns the exit code.
int answer_as_node(const NodeRequest& request,
                   std::vector<std::string> variables);

}  // namespace hangdbg
