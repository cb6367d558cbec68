// Which threads of a process handle a socket that it holds, as far as known:
// those that may end the wait at the other end.
#pragma once

#include <string_view>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/snapshot/socket_peers.h"

namespace hangdbg {

enum class SocketUse {
  Watches,    // asleep in a call that waits for it, among others
  Accepts,    // asleep in accept(2) of it
  Variable,   // a function on its stack has the socket
  EventLoop,  // runs a loop of asyncio that watches it
  Reads,      // asleep in a call that waits for that descriptor alone
  OnlyThread,
  HasRead,  // what was sent has been read, by a thread of a process that is not
            // Python, and it is not known which; the first one stands for it
  Unknown,  // the process has several threads: one of them
};

struct SocketThread {
  ThreadId id;
  SocketUse use = SocketUse::Unknown;
};

struct SocketThreads {
  std::vector<SocketThread> threads;
  bool exact = false;  // it is this one, as far as the kernel and Python tell
};

// `asks` waits for the other end. It is included only if no other thread can be
// the one: then it is a self-deadlock.
SocketThreads who_handles(const SocketPeer& peer,
                          const ProcessSnapshot& of,
                          const ThreadSnapshot& asks);

}  // namespace hangdbg
