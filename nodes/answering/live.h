// A command that is given orders while it runs, and is heard at once: what
// comes on our standard input goes to it, and what it prints goes out as it
// comes.
//
// Whatever becomes of the asking side, the command ends: when the orders end,
// when none came for a while (the asking side sends one each second), and when
// there is no reader.
#pragma once

#include <string>
#include <vector>

#include "nodes/answering/frame_writer.h"
#include "nodes/frames/messages.h"

namespace hangdbg {

NodeEnd run_live(const NodeRequest& request,
                 std::vector<std::string> variables,
                 FrameWriter& frames);

}  // namespace hangdbg
