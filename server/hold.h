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

// How a thread that is held goes on.
enum class StepKind { Next, Into, Out, Until };

// It goes on, and is held again at its next line: of the same function or a
// caller's; of any; of a caller's; or of the same with at least that number.
// await_stop tells when.
Status step_thread(Session& session,
                   std::int64_t tid,
                   StepKind kind,
                   std::int64_t line,
                   Deadline deadline);

// Whether the thread stands again; else time is up. Errors: NoSuchThread when
// it has ended; those of Session::wait_event.
Result<bool> await_stop(Session& session, std::int64_t tid, Deadline deadline);

// Nothing happens to a thread that is not held.
Status release_thread(Session& session, std::int64_t tid, Deadline deadline);

}  // namespace hangdbg
