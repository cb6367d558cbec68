// Which threads of a process handle a socket that it holds, as far as that can
// be told: those that may end somebody's wait at the other end.
#pragma once

#include <string_view>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/snapshot/socket_peers.h"

namespace hangdbg {

enum class SocketUse {
  Watches,    // asleep in a call that waits for it, among others
  Accepts,    // asleep in accept(2) of it
  Variable,   // a function that it is in has the socket
  EventLoop,  // runs a loop of asyncio that watches it
  Reads,      // asleep in a call that waits for that descriptor alone
  OnlyThread,
  Unknown,  // the process has several threads: one of them
};

struct SocketThread {
  ThreadId id;
  SocketUse use = SocketUse::Unknown;
};

struct SocketThreads {
  std::vector<SocketThread> threads;
  bool exact = false;  // it is this one, as far as the kernel and Python say
};

// `asks` waits for the other end. It is itself among them only where nobody
// else can be: then it is a self-deadlock.
SocketThreads who_handles(const SocketPeer& peer,
                          const ProcessSnapshot& of,
                          const ThreadSnapshot& asks);

}  // namespace hangdbg
