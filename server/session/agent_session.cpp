#include "server/session/agent_session.h"
#include "server/coroutines/as_result.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>

#include "agent/agent_source.h"
#include "base/log.h"
#include "base/text.h"
#include "injector/stops.h"
#include "protocol/requests/just_my_code.h"
#include "protocol/requests/load.h"
#include "server/coroutines/co_try.h"
#include "server/coroutines/run_on.h"
#include "server/session/target_end.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

// Most answers come within one millisecond; one that does not may wait for
// the GIL.
constexpr auto kFirstLook = std::chrono::milliseconds(4);
constexpr auto kSecondLook = std::chrono::milliseconds(2);
constexpr auto kLooksForPause = std::chrono::milliseconds(50);
constexpr auto kLaterLooks = std::chrono::milliseconds(20);
constexpr auto kNoticeAfter = std::chrono::seconds(1);
// How long the GIL's holder may make no progress before a question that can be
// answered without it no longer waits for it.
constexpr auto kAgentSessionPatience = std::chrono::milliseconds(500);
// Then the next such question is not worth another look at the GIL.
constexpr auto kAgentSessionMoment = std::chrono::milliseconds(100);
constexpr auto kControlAnswer = std::chrono::seconds(2);
// How long a cancelled evaluation gets to end.
constexpr auto kCancelGrace = std::chrono::milliseconds(1500);
// How long one that did not is tried to be left behind.
constexpr auto kGiveUpTries = std::chrono::milliseconds(1000);

// HANGDBG_TEST_SOURCE_ONLY: as if the build machine had had no Python.
AgentProgram::Compiled compiled_agent(int minor) {
  if (std::getenv("HANGDBG_TEST_SOURCE_ONLY") != nullptr) {
    return {};
  }
  const auto core = agent_compiled_core(minor);
  return {core.magic, core.code};
}

// Which the agent wants to be sent before it runs anything of the question.
std::vector<std::string> missing_parts(const Result<dap::Response>& response) {
  if (!response || response->success) {
    return {};
  }
  const auto body = decode<dap::ErrorBody>(response->body, "(root).body");
  if (!body || !body->hangdbg || body->hangdbg->id != "needs-part") {
    return {};
  }
  std::vector<std::string> parts;
  for (const std::string_view part : split_words(body->error.format)) {
    parts.emplace_back(part);
  }
  return parts;
}

bool waits_for_gil(HdExecutorStage stage) {
  return stage == HD_EXECUTOR_WATCHES_GIL || stage == HD_EXECUTOR_TAKES_GIL;
}

}  // namespace

Result<Injection> inject_agent(int pid, Deadline deadline) {
  const AgentProgram agent{agent_core_source(), compiled_agent};
  return inject(pid, agent, deadline);
}

// Each with both of its ends here, so that no other process closes it.
Result<Injection> stay_outside(int pid) {
  Injection made;
  made.target = TRY(preflight(pid));
  for (Channel* const channel : {&made.channels.control, &made.channels.dap}) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      return fail_errno("no pipe", ErrorId::OutOfResources);
    }
    channel->read = Fd(ends[0]);
    channel->write = Fd(ends[1]);
  }
  return made;
}

AgentSession::AgentSession(asio::io_context& io,
                           const asio::any_io_executor& looks,
                           Injection made,
                           OnNotice on_notice)
    : target_(std::move(made.target)),
      steps_(std::move(made.steps)),
      on_notice_(std::move(on_notice)),
      connection_(
          AgentConnection::open(io, std::move(made.channels), target_->pid)),
      looks_(asio::make_strand(looks)),
      gil_watch_(*target_),
      view_(*target_),
      watch_(io.get_executor()),
      nap_(io) {}

AgentSession::~AgentSession() {
  close();
}

auto AgentSession::call_raw(dap::Request request, Deadline deadline)
    -> Awaitable<dap::Response> {
  auto response = co_await ask(request, deadline, WhileHeld::Wait);
  const std::vector<std::string> missing = missing_parts(response);
  if (missing.empty()) {
    co_return response;
  }
  for (const std::string& part : missing) {
    loaded_.erase(part);
    CO_CHECK(co_await need(part, deadline));
  }
  co_return co_await ask(std::move(request), deadline, WhileHeld::Wait);
}

auto AgentSession::hello(Deadline deadline) -> Awaitable<dap::Hello::Body> {
  auto body = co_await look<dap::Hello>({}, deadline);
  co_return is_for_view(body) ? view_.hello() : std::move(body);
}

auto AgentSession::threads(Deadline deadline) -> Awaitable<dap::Threads::Body> {
  auto body = co_await look<dap::Threads>({}, deadline);
  if (is_for_view(body)) {
    co_return view_.threads(interpreter_);
  }
  if (body) {
    CO_TRY(const auto ids, TaskIds::read(target_->pid));
    for (dap::Thread& thread : body->threads) {
      const auto inner = static_cast<std::uint64_t>(thread.id);
      if (const auto outer = ids.outer(inner)) {
        thread.id = *outer;
      }
    }
  }
  co_return body;
}

auto AgentSession::stack(dap::StackTrace::Arguments wanted, Deadline deadline)
    -> Awaitable<dap::StackTrace::Body> {
  if (outside_allowed_ && owes_answer_ && !gave_up_.expired()) {
    co_return view_.stack(wanted, interpreter_);
  }
  CO_TRY(const auto ids, TaskIds::read(target_->pid));
  const auto inner = ids.inner(static_cast<int>(wanted.thread_id));
  auto arguments = wanted;
  if (just_my_code_) {
    arguments.just_my_code = true;
  }
  arguments.thread_id =
      inner ? static_cast<std::int64_t>(*inner) : wanted.thread_id;
  auto body = co_await look<dap::StackTrace>(arguments, deadline);
  co_return is_for_view(body) ? view_.stack(wanted, interpreter_)
                              : std::move(body);
}

// A question that the agent needs only to read, and we can read ourselves.
template <class Pair>
auto AgentSession::look(typename Pair::Arguments arguments, Deadline deadline)
    -> Awaitable<typename Pair::Body> {
  if (outside_) {
    co_return fail(ErrorId::GilHeld, outside_->message);  // unseen
  }
  auto request = dap::make_request<Pair>(0, arguments);
  const auto then = outside_allowed_ ? WhileHeld::GiveUp : WhileHeld::Wait;
  const auto response = co_await ask(std::move(request), deadline, then);
  co_return response ? dap::body_of<Pair>(*response)
                     : std::unexpected(response.error());
}

Status AgentSession::entered() const {
  return outside_ ? std::unexpected(*outside_) : Status();
}

asio::awaitable<bool> AgentSession::read_only() {
  if (outside_) {
    co_return true;
  }
  if (owes_answer_ && alive_) {
    const GilSample look = co_await sample_gil();
    enter_if(look.verdict, connection_->call_number());
    owes_answer_ = !connection_->answered();
  }
  co_return owes_answer_;
}

asio::awaitable<std::string> AgentSession::why_read_only() {
  if (outside_) {
    co_return outside_->message;
  }
  co_return co_await result_on(looks_, [this] { return gil_watch_.reason(); });
}

auto AgentSession::need(std::string module, Deadline deadline)
    -> Awaitable<void> {
  if (!loaded_.contains(module)) {
    dap::Load::Arguments part{module, std::string(agent_module_source(module))};
    CO_CHECK(co_await call<dap::Load>(std::move(part), deadline));
    loaded_.insert(std::move(module));
  }
  co_return Status();
}

auto AgentSession::need_stepping(Deadline deadline) -> Awaitable<void> {
  if (interpreter_ != 0) {
    co_return fail(ErrorId::NoSafeThread,
                   "threads stop in the main interpreter only",
                   "hangdbg attach --thread main");
  }
  CO_CHECK(co_await result_on(
      looks_, [this, deadline] { return check_stops(*target_, deadline); }));
  const bool monitors = target_->python.version.at_least(12);
  for (const char* const part :
       {"engine", "stops", "stepping", monitors ? "monitoring" : "tracing"}) {
    CO_CHECK(co_await need(part, deadline));
  }
  if (just_my_code_ && !loaded_.contains("justMyCode")) {
    CO_CHECK(co_await call<dap::JustMyCode>({}, deadline));
    loaded_.insert("justMyCode");
  }
  co_return Status();
}

auto AgentSession::need_breakpoints(Deadline deadline) -> Awaitable<void> {
  CO_CHECK(co_await need_stepping(deadline));
  CO_CHECK(co_await need("breakpoints", deadline));
  co_return co_await need("exceptions", deadline);
}

auto AgentSession::follow_thread(int tid, Deadline deadline)
    -> Awaitable<bool> {
  CO_TRY(const auto tasks, TaskIds::read(target_->pid));
  const auto before = interpreter_;
  CO_CHECK(co_await enter(
      interpreter_of(target_->memory, target_->python, tasks, tid)
          .value_or(before),
      deadline));
  co_return interpreter_ != before;
}

auto AgentSession::enter_main(Deadline deadline) -> Awaitable<void> {
  return enter(0, deadline);
}

// The answer of the control thread says that it has seen the record; the
// requests take another way.
auto AgentSession::enter(std::int64_t interpreter, Deadline deadline)
    -> Awaitable<void> {
  if (interpreter == interpreter_ || !alive_) {
    co_return Status();
  }
  if (outside_) {
    interpreter_ = interpreter;
    co_return Status();
  }
  CO_CHECK(connection_->tell(HD_CONTROL_INTERPRETER,
                             static_cast<std::uint32_t>(interpreter)));
  CO_CHECK(co_await connection_->stage(deadline));
  interpreter_ = interpreter;
  gil_watch_.watch_interpreter(interpreter);
  loaded_.clear();
  co_return Status();
}

// The agent leaves one before it answers in the next.
auto AgentSession::leave_interpreter(Deadline deadline) -> Awaitable<void> {
  if (interpreter_ != 0 && alive_ && !outside_ && !owes_answer_) {
    CO_CHECK(co_await enter_main(deadline));
    CO_CHECK(co_await look<dap::Hello>({}, deadline));
  }
  co_return Status();
}

void AgentSession::interrupt() {
  if (calling_) {
    interrupted_ = true;
    connection_->stop_waiting();
  }
}

void AgentSession::interrupt_or_next() {
  interrupts_next_ = true;
  interrupt();
}

std::optional<Error> AgentSession::end() const {
  switch (connection_->over()) {
    case AgentConnection::Over::No:
      break;
    case AgentConnection::Over::ChannelClosed:
      return explain_loss(*target_);
    case AgentConnection::Over::TargetEnded:
      return explain_end(target_->pid);
  }
  return std::nullopt;
}

Result<GilState> AgentSession::gil() const {
  const auto tasks = TRY(TaskIds::read(target_->pid));
  return read_gil(target_->memory, target_->python, tasks, interpreter_);
}

// ---- one call

auto AgentSession::ask(dap::Request request, Deadline deadline, WhileHeld then)
    -> Awaitable<dap::Response> {
  if (!alive_) {
    co_return fail(
        ErrorId::ChannelClosed,
        "this session is over: an earlier request could not be ended",
        "detach and attach again");
  }
  if (outside_) {
    co_return std::unexpected(*outside_);
  }
  if (std::exchange(interrupts_next_, false)) {
    co_return fail(ErrorId::Interrupted, "interrupted");
  }
  const std::string command = request.command;
  calling_ = true;
  while_held_ = then;
  interrupted_ = false;
  watch_.spawn(watch_gil());
  auto response = co_await exchange(std::move(request), deadline);
  co_await stop_watching();
  steps_.done(command);
  if (interrupted_ && !response) {
    interrupts_next_ = false;  // else it came as the answer did
  }
  if (!response && response.error().id == ErrorId::AgentFailed &&
      connection_->over() != AgentConnection::Over::TargetEnded) {
    alive_ = false;  // it has said why it leaves
    co_return response;
  }
  const bool lost = !response && response.error().id == ErrorId::ChannelClosed;
  if (auto how = response ? std::nullopt : end(); how || lost) {
    alive_ = false;
    co_return std::unexpected(how ? *std::move(how) : explain_loss(*target_));
  }
  co_return response;
}

auto AgentSession::exchange(dap::Request request, Deadline deadline)
    -> Awaitable<dap::Response> {
  Result<dap::Response> response;
  bool sent = false;
  if (owes_answer_) {
    response = co_await connection_->wait_on(deadline);
    owes_answer_ = !response;
  }
  if (!owes_answer_ && target_->python.free_threaded) {
    const GilSample look = co_await sample_gil();
    enter_if(look.verdict, connection_->next_number());
  }
  if (!owes_answer_ && interrupted_) {
    co_return fail(ErrorId::Interrupted, "interrupted");  // before it was sent
  }
  if (!owes_answer_) {
    sent = true;
    response = co_await connection_->call(std::move(request), deadline);
  }
  if (!response && response.error().id == ErrorId::TimedOut) {
    response = co_await end_call(sent);
  }
  co_return response;
}

// Runs beside a call that takes longer than most.
asio::awaitable<void> AgentSession::watch_gil() {
  const auto started = Deadline::Clock::now();
  bool noticed = false;
  for (int looks = owes_answer_ ? 1 : 0; calling_; ++looks) {
    nap_.expires_after(looks == 0   ? kFirstLook
                       : looks == 1 ? kSecondLook
                                    : kLaterLooks);
    co_await nap_.async_wait(as_result);
    if (!calling_) {
      break;
    }
    const auto stage =
        co_await connection_->stage(Deadline::in(kControlAnswer));
    if (!stage || !calling_) {
      break;
    }
    if (!waits_for_gil(*stage) && !owes_answer_) {
      continue;
    }
    const GilSample look = co_await sample_gil();
    enter_if(look.verdict, connection_->call_number());
    if (look.verdict != GilWatch::Verdict::Stands || !calling_) {
      continue;
    }
    if (while_held_ == WhileHeld::GiveUp &&
        look.stood > kAgentSessionPatience) {
      connection_->stop_waiting();
      break;
    }
    if (while_held_ == WhileHeld::Wait && !noticed && on_notice_ &&
        (owes_answer_ || Deadline::Clock::now() - started > kNoticeAfter)) {
      noticed = true;
      const std::string reason = co_await why_read_only();
      on_notice_("waiting: " + reason);
    }
  }
}

asio::awaitable<AgentSession::GilSample> AgentSession::sample_gil() {
  return result_on(looks_, [this] {
    const auto verdict = gil_watch_.look();
    return GilSample{verdict, gil_watch_.stood()};
  });
}

asio::awaitable<void> AgentSession::stop_watching() {
  calling_ = false;
  nap_.cancel();
  return watch_.join();
}

// Where there is no GIL the agent cannot see for itself that it may enter.
void AgentSession::enter_if(GilWatch::Verdict verdict,
                            std::uint32_t call_number) {
  if (verdict == GilWatch::Verdict::Moves ||
      (verdict == GilWatch::Verdict::Free && target_->python.free_threaded)) {
    log::debug(log::Area::Server, "nobody holds us up: entering");
    [[maybe_unused]] const Status told =
        connection_->tell(HD_CONTROL_ENTER_NOW, call_number);
  }
}

// The deadline has passed, or Ctrl-C was pressed: what can be cancelled is.
// `sent`: the agent has this call's question, and not only an earlier one.
auto AgentSession::end_call(bool sent) -> Awaitable<dap::Response> {
  co_await stop_watching();
  CO_TRY(const auto stage,
         co_await connection_->stage(Deadline::in(kControlAnswer)));
  const Error timeout = co_await explain_timeout(stage);
  CO_CHECK(connection_->tell(HD_CONTROL_CANCEL, connection_->call_number()));
  if (stage == HD_EXECUTOR_IN_PYTHON || stage == HD_EXECUTOR_REPLIES) {
    auto late = co_await connection_->wait_on(
        Deadline::in(sent ? kCancelGrace : Deadline::Clock::duration()));
    owes_answer_ = !late && !co_await gave_up_evaluation();
    if (late && sent && late->success && !interrupted_) {
      co_return late;  // it was just about to come
    }
    if (!late && late.error().id == ErrorId::ChannelClosed) {
      co_return late;
    }
    if (late && interrupted_) {
      co_return fail(ErrorId::Interrupted, "interrupted");
    }
    gave_up_ = Deadline::in(kAgentSessionMoment);
    if (late || (owes_answer_ && while_held_ == WhileHeld::GiveUp)) {
      co_return std::unexpected(timeout);
    }
    co_return fail(
        interrupted_ ? ErrorId::Interrupted : ErrorId::TimedOut,
        "the expression does not react: " + co_await why_no_reaction(),
        owes_answer_ ? "the program itself goes on, unless that call keeps the "
                       "GIL; attach again to look around"
                     : "the program itself goes on; all else can be asked");
  }
  // It waits for the GIL; when that comes, it finds itself cancelled.
  owes_answer_ = true;
  gave_up_ = Deadline::in(kAgentSessionMoment);
  if (interrupted_) {
    co_return fail(ErrorId::Interrupted, "interrupted");
  }
  co_return std::unexpected(timeout);
}

// Without a GIL, one that collects garbage without a pause leaves the others
// hardly a moment (docs/limits.md).
asio::awaitable<std::string> AgentSession::why_no_reaction() {
  for (const Deadline looks = Deadline::in(kLooksForPause); !looks.expired();) {
    co_await sample_gil();
    if (gil_watch_.paused()) {
      co_return "it is inside a C call, or waits: " + co_await why_read_only() +
          "; it is cancelled when it can go on";
    }
    nap_.expires_after(kSecondLook);
    co_await nap_.async_wait(as_result);
  }
  co_return "it is inside a C call, or takes a lock; it is cancelled after "
            "that";
}

// What it has begun ends by itself. Not at once while the canceller waits for
// the GIL.
asio::awaitable<bool> AgentSession::gave_up_evaluation() {
  const Deadline deadline = Deadline::in(kControlAnswer);
  for (const Deadline tries = Deadline::in(kGiveUpTries);;) {
    const auto given_up = co_await connection_->give_up(deadline);
    if (!given_up || *given_up || tries.expired()) {
      co_return given_up.value_or(false);
    }
    nap_.expires_after(kSecondLook);
    co_await nap_.async_wait(as_result);
  }
}

asio::awaitable<Error> AgentSession::explain_timeout(HdExecutorStage stage) {
  if ((waits_for_gil(stage) || owes_answer_) &&
      while_held_ == WhileHeld::GiveUp) {
    co_return Error{ErrorId::GilHeld, "the GIL is held", ""};  // unseen
  }
  if (waits_for_gil(stage)) {
    const std::string reason = co_await why_read_only();
    co_return Error{
        ErrorId::GilHeld, "no answer in time: " + reason,
        fmt::format("hangdbg attach {} -c threads -c where shows the stacks "
                    "all the same",
                    target_->pid)};
  }
  co_return Error{ErrorId::TimedOut, "time is up: the expression was cancelled",
                  "--timeout SECONDS"};
}

}  // namespace hangdbg
