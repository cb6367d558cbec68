#include "tracee/ptrace/brief_stop.h"

#include <sys/resource.h>

#include "base/deadline.h"

namespace hangdbg {

Result<std::chrono::nanoseconds> while_stopped(
    int tid,
    std::chrono::nanoseconds patience,
    const std::function<Status(const TracedThread&)>& read) {
  auto thread = TRY(TracedThread::seize(tid));
  TRY(thread.interrupt(Deadline::in(patience)));
  const Status done = read(thread);
  TRY(thread.detach());
  const auto stopped = Deadline::Clock::now() - thread.ran_at();
  TRY(done);
  return stopped;
}

Urgent::Urgent() : before_(::getpriority(PRIO_PROCESS, 0)) {
  ::setpriority(PRIO_PROCESS, 0, -20);
}

Urgent::~Urgent() {
  ::setpriority(PRIO_PROCESS, 0, before_);
}

}  // namespace hangdbg
