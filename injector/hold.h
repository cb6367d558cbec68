// Into a thread of the program that is blocked in a system call: it runs our
// code on its own stack, and goes back to its call when that returns.
//
// The agent is in the target already and has told where the thread may enter
// (bootstrap/hold.c). From the switch of its registers on the thread finds its
// way back by itself, whatever becomes of us.
#pragma once

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// What the agent has made ready for one thread.
struct HoldPlace {
  Address entry;  // hd_hold_entry
  Address held;   // its argument (HdHeld)
};

// Errors: NoSafeThread with the reason: it runs, waits for the GIL, holds it,
// or is where our code could wait for what it holds itself (a lock of the
// allocator's, say); those of preflight. In all of these nothing has changed.
Status enter_thread(int pid,
                    int tid,
                    const HoldPlace& place,
                    Deadline deadline);

}  // namespace hangdbg
