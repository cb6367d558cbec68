#include "server/session/hold.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "injector/checks/preflight.h"
#include "injector/hold.h"
#include "protocol/events/continued.h"
#include "protocol/requests/continue.h"
#include "protocol/requests/goto.h"
#include "protocol/requests/halt.h"
#include "protocol/requests/held.h"
#include "protocol/requests/hold.h"
#include "protocol/requests/next.h"
#include "protocol/requests/step_in.h"
#include "protocol/requests/step_out.h"
#include "protocol/requests/take_waiting.h"
#include "protocol/requests/until.h"
#include "server/coroutines/co_try.h"
#include "server/session/session_loop.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto kNap = std::chrono::microseconds(500);
// A loop that sleeps reaches its next line soon; C that runs may not.
constexpr auto kHoldPatience = std::chrono::milliseconds(500);
// On a busy machine, so much of the thread's own time.
constexpr std::uint64_t kItsPatience = 50'000'000;  // ns
constexpr auto kHoldBetweenTries = std::chrono::milliseconds(5);
constexpr auto kToNextLine = std::chrono::milliseconds(120);

asio::awaitable<Status> try_to_hold(AgentSession& session,
                                    std::int64_t tid,
                                    Deadline deadline,
                                    const Elsewhere& elsewhere);
asio::awaitable<Status> await_standing(AgentSession& session,
                                       std::int64_t number,
                                       Deadline deadline);
asio::awaitable<void> take_back(AgentSession& session,
                                std::int64_t tid,
                                Deadline deadline);
asio::awaitable<Status> halt_thread(AgentSession& session,
                                    std::int64_t tid,
                                    Deadline deadline);
AgentSession::Awaitable<bool> comes_to_stand(AgentSession& session,
                                             std::int64_t tid,
                                             Deadline deadline);
// It waits for a CPU, and has had little of one since then.
bool lacks_cpu(const AgentSession& session,
               std::int64_t tid,
               const Result<SchedStats>& then);
asio::awaitable<void> nap(Deadline::Clock::duration time);
Result<std::int64_t> number_of(const AttachTarget& target, std::int64_t tid);
template <class T>
bool was_interrupted(const Result<T>& result) {
  return !result && result.error().id == ErrorId::Interrupted;
}
template <class T>
Status only_status(const Result<T>& result);

}  // namespace

// Where it is blocked it is entered. One that runs, or comes and goes, is
// stopped at its next line meanwhile.
asio::awaitable<Status> hold_thread(AgentSession& session,
                                    std::int64_t tid,
                                    Deadline deadline,
                                    Elsewhere elsewhere) {
  const Deadline patience = deadline.capped(kHoldPatience);
  const auto before =
      read_task_runs(session.target().pid, static_cast<int>(tid));
  for (bool halts = true;;) {
    const Status held = co_await try_to_hold(session, tid, deadline, elsewhere);
    if (was_interrupted(held)) {
      co_return held;
    }
    // It may have reached its line just before; also that of an earlier try,
    // which had given it up.
    if (!held && held.error().id != ErrorId::NoSafeThread &&
        (co_await comes_to_stand(session, tid, deadline)).value_or(false)) {
      co_return Status();
    }
    if (held || held.error().id != ErrorId::NoSafeThread ||
        deadline.expired() ||
        (patience.expired() && !lacks_cpu(session, tid, before))) {
      co_return held;
    }
    // What refused it has also taken back the halt before.
    if (halts) {
      const Status halted = co_await halt_thread(session, tid, deadline);
      if (was_interrupted(halted)) {
        co_return halted;
      }
      halts = halted.has_value();
    }
    const Deadline line = Deadline::in(halts ? kToNextLine : kHoldBetweenTries);
    while (!line.expired()) {
      co_await nap(kNap);
      if (!halts) {
        continue;
      }
      const auto stands = co_await comes_to_stand(session, tid, deadline);
      if (was_interrupted(stands)) {
        co_await take_back(session, tid, deadline);
        co_return std::unexpected(stands.error());
      }
      if (stands.value_or(false)) {
        co_return Status();
      }
    }
  }
}

asio::awaitable<Status> step_thread(AgentSession& session,
                                    std::int64_t tid,
                                    Step step,
                                    Deadline deadline) {
  CO_CHECK(co_await session.need_stepping(deadline));
  if (step.events) {
    CO_CHECK(co_await session.need("pdb_stops", deadline));
  }
  if (step.watch) {
    CO_CHECK(co_await session.need_breakpoints(deadline));
  }
  CO_TRY(const auto number, number_of(session.target(), tid));
  dap::StepArguments plain;
  plain.thread_id = number;
  plain.events = step.events;
  switch (step.kind) {
    case StepKind::Next:
      co_return only_status(co_await session.call<dap::Next>(plain, deadline));
    case StepKind::Into: {
      dap::StepIn::Arguments into;
      into.thread_id = number;
      into.target_id = step.target;
      into.events = step.events;
      co_return only_status(co_await session.call<dap::StepIn>(into, deadline));
    }
    case StepKind::Out:
      co_return only_status(
          co_await session.call<dap::StepOut>(plain, deadline));
    case StepKind::Until:
      break;
  }
  dap::Until::Arguments until;
  until.thread_id = number;
  until.line = step.line;
  if (step.watch) {
    until.watch = std::move(step.watch);
    until.frame = step.frame;
  }
  until.events = step.events;
  co_return only_status(co_await session.call<dap::Until>(until, deadline));
}

asio::awaitable<Status> jump_thread(AgentSession& session,
                                    std::int64_t tid,
                                    std::int64_t line,
                                    Deadline deadline) {
  CO_CHECK(co_await session.need_stepping(deadline));
  CO_TRY(const auto number, number_of(session.target(), tid));
  dap::Goto::Arguments arguments;
  arguments.thread_id = number;
  arguments.target_id = line;
  co_return only_status(co_await session.call<dap::Goto>(arguments, deadline));
}

asio::awaitable<Status> debug_in_thread(AgentSession& session,
                                        std::int64_t tid,
                                        dap::Debug::Arguments what,
                                        Deadline deadline) {
  CO_CHECK(co_await session.need_stepping(deadline));
  CO_CHECK(co_await session.need("debugged", deadline));
  CO_TRY(what.thread_id, number_of(session.target(), tid));
  co_return only_status(
      co_await session.call<dap::Debug>(std::move(what), deadline));
}

asio::awaitable<Status> release_thread(AgentSession& session,
                                       std::int64_t tid,
                                       Deadline deadline) {
  CO_TRY(const auto number, number_of(session.target(), tid));
  dap::Continue::Arguments arguments;
  arguments.thread_id = number;
  co_return only_status(
      co_await session.call<dap::Continue>(arguments, deadline));
}

asio::awaitable<Status> take_waiting(AgentSession& session,
                                     Deadline deadline,
                                     bool entry) {
  CO_CHECK(co_await session.need_breakpoints(deadline));
  CO_CHECK(co_await session.need("waits", deadline));
  const dap::TakeWaiting::Arguments wanted{entry};
  co_return only_status(
      co_await session.call<dap::TakeWaiting>(wanted, deadline));
}

Status hold_thread(Session& session, std::int64_t tid, Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(
      hold_thread(loop.agent(), tid, deadline,
                  [](std::function<Status()> work) -> asio::awaitable<Status> {
                    co_return work();
                  }));
}

Status step_thread(Session& session,
                   std::int64_t tid,
                   Step step,
                   Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(step_thread(loop.agent(), tid, step, deadline));
}

Status jump_thread(Session& session,
                   std::int64_t tid,
                   std::int64_t line,
                   Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(jump_thread(loop.agent(), tid, line, deadline));
}

Status debug_in_thread(Session& session,
                       std::int64_t tid,
                       dap::Debug::Arguments what,
                       Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(
      debug_in_thread(loop.agent(), tid, std::move(what), deadline));
}

Status release_thread(Session& session, std::int64_t tid, Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(release_thread(loop.agent(), tid, deadline));
}

Status take_waiting(Session& session, Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(take_waiting(loop.agent(), deadline));
}

Result<std::int64_t> agents_number(const Session& session, std::int64_t tid) {
  return number_of(session.target(), tid);
}

Result<std::optional<Stop>> next_stop(Session& session, Deadline deadline) {
  for (;;) {
    const auto event = TRY(session.wait_event(deadline));
    if (!event) {
      return std::nullopt;
    }
    const bool goes_on = event->event == dap::Continued::event;
    if (goes_on || event->event == dap::Stopped::event) {
      Stop stop{.goes_on = goes_on};
      std::int64_t number = 0;
      if (goes_on) {
        number = TRY(dap::body_of<dap::Continued>(*event)).thread_id;
      } else {
        stop.why = TRY(dap::body_of<dap::Stopped>(*event));
        number = stop.why.thread_id.value_or(0);
      }
      const auto ids = TRY(TaskIds::read(session.target().pid));
      stop.tid = ids.outer(static_cast<std::uint64_t>(number))
                     .value_or(static_cast<int>(number));
      return stop;
    }
  }
}

namespace {

asio::awaitable<Status> try_to_hold(AgentSession& session,
                                    std::int64_t tid,
                                    Deadline deadline,
                                    const Elsewhere& elsewhere) {
  const int pid = session.target().pid;
  CO_CHECK(co_await session.need("engine", deadline));
  CO_TRY(const auto number, number_of(session.target(), tid));
  dap::Hold::Arguments question;
  question.thread_id = number;
  CO_TRY(const auto body, co_await session.call<dap::Hold>(question, deadline));
  const HoldPlace place{Address{static_cast<std::uint64_t>(body.entry)},
                        Address{static_cast<std::uint64_t>(body.held)}};
  Status stands = co_await elsewhere([=] {
    return enter_thread(pid, static_cast<int>(tid), place, deadline);
  });
  if (stands) {
    stands = co_await await_standing(session, number, deadline);
  }
  if (!stands) {
    co_await take_back(session, tid, deadline);
  }
  co_return stands;
}

// What a further Ctrl-C does not interrupt.
asio::awaitable<void> take_back(AgentSession& session,
                                std::int64_t tid,
                                Deadline deadline) {
  session.forget_interrupt();
  [[maybe_unused]] const Status gone =
      co_await release_thread(session, tid, deadline);
}

asio::awaitable<Status> await_standing(AgentSession& session,
                                       std::int64_t number,
                                       Deadline deadline) {
  dap::Held::Arguments question;
  question.thread_id = number;
  for (;;) {
    CO_TRY(const auto held,
           co_await session.call<dap::Held>(question, deadline));
    if (held.stands) {
      co_return Status();
    }
    if (!held.comes) {
      co_return fail(ErrorId::NoSafeThread, "the thread went on by itself");
    }
    if (deadline.expired()) {
      co_return fail(ErrorId::TimedOut, "the thread does not come to stand");
    }
    co_await nap(kNap);
  }
}

asio::awaitable<Status> halt_thread(AgentSession& session,
                                    std::int64_t tid,
                                    Deadline deadline) {
  CO_CHECK(co_await session.need_stepping(deadline));
  CO_TRY(const auto number, number_of(session.target(), tid));
  dap::Halt::Arguments arguments;
  arguments.thread_id = number;
  co_return only_status(co_await session.call<dap::Halt>(arguments, deadline));
}

AgentSession::Awaitable<bool> comes_to_stand(AgentSession& session,
                                             std::int64_t tid,
                                             Deadline deadline) {
  CO_TRY(const auto number, number_of(session.target(), tid));
  dap::Held::Arguments question;
  question.thread_id = number;
  CO_TRY(const auto held, co_await session.call<dap::Held>(question, deadline));
  co_return held.stands;
}

bool lacks_cpu(const AgentSession& session,
               std::int64_t tid,
               const Result<SchedStats>& then) {
  const int pid = session.target().pid;
  const auto stat = read_task_stat(pid, static_cast<int>(tid));
  const auto now = read_task_runs(pid, static_cast<int>(tid));
  return then && now && stat && stat->state == 'R' &&
         now->nanoseconds - then->nanoseconds < kItsPatience &&
         now->nanoseconds > 0;
}

asio::awaitable<void> nap(Deadline::Clock::duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

// The number by which the agent knows the thread.
Result<std::int64_t> number_of(const AttachTarget& target, std::int64_t tid) {
  const auto ids = TRY(TaskIds::read(target.pid));
  const auto inner = ids.inner(static_cast<int>(tid));
  return inner ? static_cast<std::int64_t>(*inner) : tid;
}

template <class T>
Status only_status(const Result<T>& result) {
  return result ? Status() : std::unexpected(result.error());
}

}  // namespace
}  // namespace hangdbg
