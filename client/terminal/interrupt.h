// Ctrl-C: ends what is being asked of the target, not us.
//
// While an Interruptible lives, SIGINT interrupts the session's running call,
// or else its next one; outside it the program dies of SIGINT as programs do,
// which is safe at any moment (docs/injection.md). The innermost one counts.
// An interrupt not taken yet holds for the next Interruptible, too.
#pragma once

#include "server/session/session.h"

namespace hangdbg {

class Interruptible {
 public:
  explicit Interruptible(Session& session);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // Whether Ctrl-C came since the last call of this. No later call is
  // interrupted by it.
  static bool take();

 private:
  Session* outer_;
};

}  // namespace hangdbg
