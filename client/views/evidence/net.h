// How `hangdbg net` shows sockets.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "diagnosis/evidence/net.h"
#include "protocol/json.h"

namespace hangdbg {

std::string net_text(const SeenNet& net, const Palette& out);
Json net_json(const SeenNet& net);

}  // namespace hangdbg
