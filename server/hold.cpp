#include "server/hold.h"

#include <fmt/core.h>

#include <thread>

#include "injector/hold.h"
#include "injector/preflight.h"
#include "inspector/task_ids.h"
#include "protocol/events/stopped.h"
#include "protocol/requests/continue.h"
#include "protocol/requests/held.h"
#include "protocol/requests/hold.h"
#include "protocol/requests/next.h"
#include "protocol/requests/step_in.h"
#include "protocol/requests/step_out.h"
#include "protocol/requests/until.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr auto kNap = std::chrono::microseconds(500);

// A loop that sleeps is blocked most of the time.
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kBetweenTries = std::chrono::milliseconds(5);
// Whether a thread that is waited for has ended.
constexpr auto kLookAgain = std::chrono::milliseconds(200);

Status try_to_hold(Session& session, std::int64_t tid, Deadline deadline);
Status await_standing(Session& session, std::int64_t number, Deadline deadline);
Result<std::int64_t> number_of(const Session& session, std::int64_t tid);

}  // namespace

Status hold_thread(Session& session, std::int64_t tid, Deadline deadline) {
  const Deadline patience = deadline.capped(kPatience);
  for (;;) {
    const Status held = try_to_hold(session, tid, deadline);
    if (held || held.error().id != ErrorId::NoSafeThread ||
        patience.expired()) {
      return held;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Status release_thread(Session& session, std::int64_t tid, Deadline deadline) {
  TRY(session.call<dap::Continue>({TRY(number_of(session, tid)), true},
                                  deadline));
  return {};
}

Status step_thread(Session& session,
                   std::int64_t tid,
                   StepKind kind,
                   std::int64_t line,
                   Deadline deadline) {
  const auto number = TRY(number_of(session, tid));
  // What was said before is of no interest any more.
  while (TRY(session.wait_event(Deadline::in({})))) {
  }
  switch (kind) {
    case StepKind::Next:
      TRY(session.call<dap::Next>({.thread_id = number}, deadline));
      break;
    case StepKind::Into:
      TRY(session.call<dap::StepIn>({.thread_id = number}, deadline));
      break;
    case StepKind::Out:
      TRY(session.call<dap::StepOut>({.thread_id = number}, deadline));
      break;
    case StepKind::Until:
      TRY(session.call<dap::Until>({number, line}, deadline));
      break;
  }
  return {};
}

Result<bool> await_stop(Session& session, std::int64_t tid, Deadline deadline) {
  const auto number = TRY(number_of(session, tid));
  while (!deadline.expired()) {
    const auto event = TRY(session.wait_event(deadline.capped(kLookAgain)));
    if (event && event->event == dap::Stopped::event) {
      const auto stopped = TRY(dap::body_of<dap::Stopped>(*event));
      if (stopped.thread_id == number) {
        return true;
      }
    }
    if (!event) {
      TRY(read_task_stat(session.target().pid, static_cast<int>(tid)));
    }
  }
  return false;
}

namespace {

Status try_to_hold(Session& session, std::int64_t tid, Deadline deadline) {
  const int pid = session.target().pid;
  const auto number = TRY(number_of(session, tid));
  const auto place = TRY(session.call<dap::Hold>({number}, deadline));
  const Status sent =
      enter_thread(pid, static_cast<int>(tid),
                   {Address{static_cast<std::uint64_t>(place.entry)},
                    Address{static_cast<std::uint64_t>(place.held)}},
                   deadline);
  const Status stands = sent ? await_standing(session, number, deadline) : sent;
  if (!stands) {
    [[maybe_unused]] const Status gone = release_thread(session, tid, deadline);
  }
  return stands;
}

Status await_standing(Session& session,
                      std::int64_t number,
                      Deadline deadline) {
  for (;;) {
    const auto held = TRY(session.call<dap::Held>({number}, deadline));
    if (held.stands) {
      return {};
    }
    if (!held.comes) {
      return fail(ErrorId::NoSafeThread, "the thread went on by itself");
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut, "the thread does not come to stand");
    }
    std::this_thread::sleep_for(kNap);
  }
}

// The number by which the agent knows the thread.
Result<std::int64_t> number_of(const Session& session, std::int64_t tid) {
  const auto ids = TRY(TaskIds::read(session.target().pid));
  const auto inner = ids.inner(static_cast<int>(tid));
  return inner ? static_cast<std::int64_t>(*inner) : tid;
}

}  // namespace
}  // namespace hangdbg
