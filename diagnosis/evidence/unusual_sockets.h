// What is odd about a socket: what it cannot send, what nobody reads, who does
// not answer.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence/net.h"

namespace hangdbg {

// Fills `odd` and `oddness`. `interfaces`: those of its namespace; none, if
// they are not known.
void tell_oddities(SeenSocket& socket,
                   const std::vector<Interface>& interfaces);

}  // namespace hangdbg
