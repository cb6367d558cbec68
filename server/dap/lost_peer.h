// A peer whose machine has gone says nothing: the kernel asks.
#pragma once

namespace hangdbg {

// A TCP connection ends after a minute in which nothing of it was heard.
void notice_lost_peer(int socket);

}  // namespace hangdbg
