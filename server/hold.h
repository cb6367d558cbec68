// Taking hold of a thread of the program that is blocked, and letting go of it.
#pragma once

#include "base/deadline.h"
#include "base/result.h"
#include "server/session.h"

namespace hangdbg {

// From then on what is asked about the thread's frames runs on itself. It goes
// on by release_thread, and by the end of the session. Errors: NoSafeThread,
// with the reason why it cannot be held now; those of Session::call.
Status hold_thread(Session& session, std::int64_t tid, Deadline deadline);

// Nothing happens to a thread that is not held.
Status release_thread(Session& session, std::int64_t tid, Deadline deadline);

}  // namespace hangdbg
