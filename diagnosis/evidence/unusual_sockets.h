// What is unusual about a socket: unsent data, unread data, a peer that does
// not answer.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence/net.h"

namespace hangdbg {

// Fills `odd` and `oddness`. `interfaces`: those of its namespace; none if
// unknown.
void tell_oddities(SeenSocket& socket,
                   const std::vector<Interface>& interfaces);

}  // namespace hangdbg
