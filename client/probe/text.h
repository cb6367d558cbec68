// A probe of the network, for a person: what is wrong, the matrix, interfaces.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "protocol/reports/net_probe.h"

namespace hangdbg {

std::string net_probe_text(const reports::NetProbe& probe, const Palette& out);

}  // namespace hangdbg
