#include "server/session.h"

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <set>

#include "agent/agent_source.h"
#include "base/log.h"
#include "base/text.h"
#include "injector/inject.h"
#include "inspector/task_ids.h"
#include "protocol/requests/load.h"
#include "server/agent_connection.h"
#include "server/gil_watch.h"
#include "server/outside_view.h"
#include "server/target_end.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

// Most answers come within one millisecond; one that does not may wait for
// the GIL.
constexpr auto kFirstLook = std::chrono::milliseconds(4);
constexpr auto kSecondLook = std::chrono::milliseconds(2);
constexpr auto kLaterLooks = std::chrono::milliseconds(20);
constexpr auto kNoticeAfter = std::chrono::seconds(1);
// How long the GIL's holder stands still before it is not waited for by a
// question that can be answered without it.
constexpr auto kPatience = std::chrono::milliseconds(500);
// Then the next such question is not worth another look at the GIL.
constexpr auto kMoment = std::chrono::milliseconds(100);
constexpr auto kControlAnswer = std::chrono::seconds(2);
// How long a cancelled evaluation gets to end.
constexpr auto kCancelGrace = std::chrono::milliseconds(1500);

// HANGDBG_TEST_SOURCE_ONLY: as if the build machine had had no Python.
AgentProgram::Compiled compiled_agent(int minor) {
  if (std::getenv("HANGDBG_TEST_SOURCE_ONLY") != nullptr) {
    return {};
  }
  const auto core = agent_compiled_core(minor);
  return {core.magic, core.code};
}

bool waits_for_gil(HdExecutorStage stage) {
  return stage == HD_EXECUTOR_WATCHES_GIL || stage == HD_EXECUTOR_TAKES_GIL;
}

}  // namespace

struct Session::Impl {
  Impl(Injection made, Hooks wanted)
      : target(std::move(made.target)),
        steps(std::move(made.steps)),
        hooks(std::move(wanted)),
        connection(io, std::move(made.channels)),
        interrupt_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        interrupts(io, ::dup(interrupt_fd.get())),
        end(io),
        gil(*target),
        view(*target) {
    connection.on_event = hooks.on_event;
    // Not in kernels before 5.3: then only the channels tell.
    if (const long fd = ::syscall(SYS_pidfd_open, target->pid, 0); fd >= 0) {
      end.assign(static_cast<int>(fd));
    }
  }

  asio::awaitable<Result<dap::Response>> call(dap::Request request,
                                              Deadline deadline,
                                              WhileHeld then);
  asio::awaitable<void> watch_interrupts();
  asio::awaitable<void> watch_end();
  asio::awaitable<void> watch_gil();
  void enter_if(GilWatch::Verdict verdict, std::uint32_t call_number);
  asio::awaitable<Result<dap::Response>> end_call(bool sent);
  asio::awaitable<void> settle();
  Error explain_timeout(HdExecutorStage stage);
  template <class Body>
  bool is_for_view(const Result<Body>& answer) const {
    return outside_allowed && !answer && answer.error().id == ErrorId::GilHeld;
  }

  // Fields in the order in which they are made; the last go first.
  asio::io_context io{1};
  std::unique_ptr<Target> target;
  Steps steps;
  Hooks hooks;
  AgentConnection connection;
  Fd interrupt_fd;
  asio::posix::stream_descriptor interrupts;
  asio::posix::stream_descriptor end;  // readable when the target has ended
  asio::steady_timer nap{io};  // watch_gil's, cut short by the call's end
  GilWatch gil;
  OutsideView view;
  std::set<std::string> loaded;
  std::int64_t interpreter = 0;  // in which the requests run
  bool alive = true;
  // The agent has a question that was given up: it waits for the GIL with it.
  // What is queued behind it could not be cancelled, so nothing is.
  bool owes_answer = false;
  Deadline gave_up = Deadline::in({});  // until then, just now
  bool outside_allowed = true;

  // Of the running call.
  bool calling = false;
  WhileHeld while_held = WhileHeld::Wait;
  bool interrupted = false;
  bool ended = false;
  bool querying = false;  // watch_gil asks for the stage
  HdExecutorStage stage = HD_EXECUTOR_IDLE;
};

Session::Session() = default;
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::attach(int pid,
                                                 Hooks hooks,
                                                 Deadline deadline) {
  const AgentProgram agent{agent_core_source(), compiled_agent};
  auto injection = TRY(inject(pid, agent, deadline));
  std::unique_ptr<Session> session(new Session);
  session->impl_ =
      std::make_unique<Impl>(std::move(injection), std::move(hooks));
  return session;
}

Result<dap::Response> Session::call_raw(const std::string& command,
                                        Json arguments,
                                        Deadline deadline) {
  return ask({0, command, std::move(arguments)}, deadline, WhileHeld::Wait);
}

Result<dap::Response> Session::ask(dap::Request request,
                                   Deadline deadline,
                                   WhileHeld then) {
  Impl& impl = *impl_;
  if (!impl.alive) {
    return fail(ErrorId::ChannelClosed,
                "this session is over: an earlier request could not be ended",
                "detach and attach again");
  }
  const std::string command = request.command;
  std::optional<Result<dap::Response>> result;
  impl.io.restart();
  asio::co_spawn(
      impl.io, impl.call(std::move(request), deadline, then),
      [&](std::exception_ptr thrown, Result<dap::Response> response) {
        result = thrown ? fail(ErrorId::System, "an exception in a coroutine")
                        : std::move(response);
      });
  impl.io.run();
  if (!*result && impl.ended) {
    impl.alive = false;
    result = std::unexpected(explain_end(impl.target->pid));
  } else if (!*result && result->error().id == ErrorId::ChannelClosed) {
    impl.alive = false;
    result = std::unexpected(explain_loss(*impl.target));
  }
  impl.steps.done(command);
  return *std::move(result);
}

// A question that the agent needs only to read, and we can read ourselves.
template <class Pair>
Result<typename Pair::Body> Session::look(
    const typename Pair::Arguments& arguments,
    Deadline deadline) {
  const auto response =
      TRY(ask(dap::make_request<Pair>(0, arguments), deadline,
              impl_->outside_allowed ? WhileHeld::GiveUp : WhileHeld::Wait));
  return dap::body_of<Pair>(response);
}

Result<dap::Hello::Body> Session::hello(Deadline deadline) {
  auto body = look<dap::Hello>({}, deadline);
  return impl_->is_for_view(body) ? impl_->view.hello() : std::move(body);
}

Result<dap::Threads::Body> Session::threads(Deadline deadline) {
  auto body = look<dap::Threads>({}, deadline);
  if (impl_->is_for_view(body)) {
    return impl_->view.threads(impl_->interpreter);
  }
  if (body) {
    const auto ids = TRY(TaskIds::read(impl_->target->pid));
    for (dap::Thread& thread : body->threads) {
      const auto inner = static_cast<std::uint64_t>(thread.id);
      if (const auto outer = ids.outer(inner)) {
        thread.id = *outer;
      }
    }
  }
  return body;
}

Result<dap::StackTrace::Body> Session::stack(std::int64_t tid,
                                             std::int64_t levels,
                                             Deadline deadline) {
  if (impl_->outside_allowed && impl_->owes_answer &&
      !impl_->gave_up.expired()) {
    return impl_->view.stack(tid, levels, impl_->interpreter);
  }
  const auto ids = TRY(TaskIds::read(impl_->target->pid));
  const auto inner = ids.inner(static_cast<int>(tid));
  const auto known_as = inner ? static_cast<std::int64_t>(*inner) : tid;
  auto body = look<dap::StackTrace>({known_as, {}, levels}, deadline);
  return impl_->is_for_view(body)
             ? impl_->view.stack(tid, levels, impl_->interpreter)
             : std::move(body);
}

Status Session::need(const std::string& module, Deadline deadline) {
  if (impl_->loaded.contains(module)) {
    return {};
  }
  TRY(call<dap::Load>({module, std::string(agent_module_source(module))},
                      deadline));
  impl_->loaded.insert(module);
  return {};
}

Result<bool> Session::follow_thread(int tid, Deadline deadline) {
  const Target& target = *impl_->target;
  const auto tasks = TRY(TaskIds::read(target.pid));
  const auto before = impl_->interpreter;
  TRY(enter(
      interpreter_of(target.memory, target.python, tasks, tid).value_or(before),
      deadline));
  return impl_->interpreter != before;
}

Status Session::enter_main(Deadline deadline) {
  return enter(0, deadline);
}

// The answer of the control thread says that it has seen the record; the
// requests take another way.
Status Session::enter(std::int64_t interpreter, Deadline deadline) {
  Impl& impl = *impl_;
  if (interpreter == impl.interpreter || !impl.alive) {
    return {};
  }
  TRY(impl.connection.tell(HD_CONTROL_INTERPRETER,
                           static_cast<std::uint32_t>(interpreter)));
  std::optional<Result<HdExecutorStage>> seen;
  impl.io.restart();
  asio::co_spawn(
      impl.io,
      [&]() -> asio::awaitable<void> {
        seen.emplace(co_await impl.connection.stage(deadline));
      },
      asio::detached);
  impl.io.run();
  TRY(*seen);
  impl.interpreter = interpreter;
  impl.gil.watch_interpreter(interpreter);
  impl.loaded.clear();
  return {};
}

void Session::interrupt() {
  const std::uint64_t one = 1;
  // Nothing to do if that fails: the counter is at its end, so we are heard.
  [[maybe_unused]] const auto put =
      ::write(impl_->interrupt_fd.get(), &one, sizeof one);
}

bool Session::alive() const {
  return impl_->alive;
}

const Target& Session::target() const {
  return *impl_->target;
}

void Session::allow_outside(bool allowed) {
  impl_->outside_allowed = allowed;
}

bool Session::read_only() {
  Impl& impl = *impl_;
  if (impl.owes_answer && impl.alive) {
    impl.io.restart();
    asio::co_spawn(impl.io, impl.settle(), asio::detached);
    impl.io.run();
  }
  return impl.owes_answer;
}

std::string Session::why_read_only() {
  return impl_->gil.reason();
}

Result<GilState> Session::gil() const {
  const Target& target = *impl_->target;
  const auto tasks = TRY(TaskIds::read(target.pid));
  return read_gil(target.memory, target.python, tasks, impl_->interpreter);
}

Steps& Session::steps() {
  return impl_->steps;
}

asio::awaitable<Result<dap::Response>> Session::Impl::call(dap::Request request,
                                                           Deadline deadline,
                                                           WhileHeld then) {
  calling = true;
  while_held = then;
  interrupted = false;
  ended = false;
  stage = HD_EXECUTOR_IDLE;
  std::uint64_t stale = 0;
  [[maybe_unused]] const auto drained =
      ::read(interrupt_fd.get(), &stale, sizeof stale);
  asio::co_spawn(io, watch_interrupts(), asio::detached);
  asio::co_spawn(io, watch_end(), asio::detached);
  asio::co_spawn(io, watch_gil(), asio::detached);

  Result<dap::Response> response;
  bool sent = false;
  if (owes_answer) {
    response = co_await connection.wait_on(deadline);
    owes_answer = !response;
  }
  if (!owes_answer) {
    sent = true;
    if (target->python.free_threaded) {
      enter_if(gil.look(), connection.next_number());
    }
    response = co_await connection.call(std::move(request), deadline);
  }
  if (!response && response.error().id == ErrorId::TimedOut && !ended) {
    response = co_await end_call(sent);
  }
  calling = false;
  interrupts.cancel();
  end.cancel();
  nap.cancel();
  co_return response;
}

asio::awaitable<void> Session::Impl::watch_interrupts() {
  // Asio may wake us for one that came before this call and has been read.
  std::uint64_t count = 0;
  do {
    const auto [error] = co_await interrupts.async_wait(
        asio::posix::stream_descriptor::wait_read, as_result);
    if (error || !calling) {
      co_return;
    }
  } while (::read(interrupt_fd.get(), &count, sizeof count) != sizeof count);
  interrupted = true;
  connection.stop_waiting();
}

// A child that the target has forked may hold the agent's ends open, so the
// channels alone do not tell.
asio::awaitable<void> Session::Impl::watch_end() {
  if (!end.is_open()) {
    co_return;
  }
  const auto [error] = co_await end.async_wait(
      asio::posix::stream_descriptor::wait_read, as_result);
  if (!error && calling) {
    ended = true;
    connection.stop_waiting();
  }
}

// Runs beside a call that takes longer than most.
asio::awaitable<void> Session::Impl::watch_gil() {
  const auto started = Deadline::Clock::now();
  bool noticed = false;
  for (int looks = owes_answer ? 1 : 0; calling; ++looks) {
    nap.expires_after(looks == 0   ? kFirstLook
                      : looks == 1 ? kSecondLook
                                   : kLaterLooks);
    co_await nap.async_wait(as_result);
    if (!calling) {
      co_return;
    }
    querying = true;
    const auto now = co_await connection.stage(Deadline::in(kControlAnswer));
    querying = false;
    if (!now || !calling) {
      co_return;
    }
    stage = *now;
    if (!waits_for_gil(stage)) {
      continue;
    }
    const auto verdict = gil.look();
    enter_if(verdict, connection.call_number());
    if (verdict != GilWatch::Verdict::Stands) {
      continue;
    }
    if (while_held == WhileHeld::GiveUp && gil.stood() > kPatience) {
      connection.stop_waiting();
      co_return;
    }
    if (while_held == WhileHeld::Wait && !noticed && hooks.on_notice &&
        (owes_answer || Deadline::Clock::now() - started > kNoticeAfter)) {
      noticed = true;
      hooks.on_notice("waiting: " + gil.reason());
    }
  }
}

// Outside of calls: whether the answer that is owed has come. What lets the
// agent answer happens here as well.
asio::awaitable<void> Session::Impl::settle() {
  enter_if(gil.look(), connection.call_number());
  owes_answer = !co_await connection.wait_on(Deadline::in({}));
}

// Where there is no GIL the agent cannot see for itself that it may enter.
void Session::Impl::enter_if(GilWatch::Verdict verdict,
                             std::uint32_t call_number) {
  if (verdict == GilWatch::Verdict::Moves ||
      (verdict == GilWatch::Verdict::Free && target->python.free_threaded)) {
    log::debug(log::Area::Server, "nobody holds us up: entering");
    [[maybe_unused]] const Status told =
        connection.tell(HD_CONTROL_ENTER_NOW, call_number);
  }
}

// The deadline has passed, or Ctrl-C was pressed: what can be cancelled is.
// `sent`: the agent has this call's question, and not only an earlier one.
asio::awaitable<Result<dap::Response>> Session::Impl::end_call(bool sent) {
  while (querying) {
    asio::steady_timer moment(io, std::chrono::milliseconds(1));
    co_await moment.async_wait(as_result);
  }
  calling = false;  // ends watch_gil
  const auto now = co_await connection.stage(Deadline::in(kControlAnswer));
  if (!now) {
    co_return std::unexpected(now.error());
  }
  const Error timeout = explain_timeout(*now);
  if (const Status told = connection.tell(HD_CONTROL_CANCEL); !told) {
    co_return std::unexpected(told.error());
  }
  if (*now == HD_EXECUTOR_IN_PYTHON || *now == HD_EXECUTOR_REPLIES) {
    const auto late = co_await connection.wait_on(Deadline::in(kCancelGrace));
    if (late) {
      owes_answer = false;
      if (sent && late->success && !interrupted) {
        co_return *late;  // it was just about to come
      }
      if (interrupted) {
        co_return fail(ErrorId::Interrupted, "interrupted");
      }
      co_return std::unexpected(timeout);
    }
    alive = false;
    co_return fail(
        interrupted ? ErrorId::Interrupted : ErrorId::TimedOut,
        "the expression does not react: it is inside a C call; it will be "
        "cancelled when that returns",
        "the program itself goes on; attach again to look around");
  }
  // It waits for the GIL; when that comes, it finds itself cancelled.
  owes_answer = true;
  gave_up = Deadline::in(kMoment);
  if (interrupted) {
    co_return fail(ErrorId::Interrupted, "interrupted");
  }
  co_return std::unexpected(timeout);
}

Error Session::Impl::explain_timeout(HdExecutorStage now) {
  if (waits_for_gil(now) && while_held == WhileHeld::GiveUp) {
    return {ErrorId::GilHeld, "the GIL is held", ""};  // nobody will see it
  }
  if (waits_for_gil(now)) {
    return {
        ErrorId::GilHeld, "no answer in time: " + gil.reason(),
        fmt::format("hangdbg attach {} -c threads -c where shows the stacks "
                    "all the same",
                    target->pid)};
  }
  return {ErrorId::TimedOut, "time is up: the expression was cancelled",
          "--timeout SECONDS"};
}

}  // namespace hangdbg
