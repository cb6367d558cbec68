#include "server/dap/debug_session.h"
#include "server/coroutines/as_result.h"

#include <boost/asio/co_spawn.hpp>

#include "base/log.h"
#include "protocol/events/continued.h"
#include "protocol/events/coordinator_left.h"
#include "protocol/events/exited.h"
#include "protocol/events/output.h"
#include "protocol/events/stopped.h"
#include "protocol/events/terminal_ended.h"
#include "protocol/events/terminated.h"
#include "server/dap/access.h"
#include "server/dap/handlers.h"
#include "server/session/hold.h"
#include "server/session/target_end.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto kNever = Deadline::Clock::duration(std::chrono::hours(24 * 365));

constexpr std::size_t kMostRequests = 256;
// Of one that has not shown the token: there may be hundreds of those.
constexpr std::size_t kMostOfStranger = 8;
constexpr std::size_t kLargestOfStranger = std::size_t{64} << 10;
// An editor shows its token and attaches at once; what does not is no editor.
constexpr auto kTokenWithin = std::chrono::seconds(10);
constexpr auto kAttachWithin = std::chrono::seconds(60);
// Each may be megabytes.
constexpr std::size_t kMostMessages = 4;
// What we put among the editor's requests.
constexpr std::string_view kHoldBack = " hold children back";
// How long an editor may not read, and how long when it has left.
constexpr auto kDebugSessionPatience = std::chrono::seconds(30);
constexpr auto kFarewell = std::chrono::milliseconds(500);
constexpr auto kToEnd = std::chrono::seconds(2);  // of a program of ours

// A token is not for a log.
bool has_secret(const std::string& message) {
  return message.find("token") != std::string::npos;
}

}  // namespace

DebugSession::DebugSession(Machine machine,
                           std::unique_ptr<Transport> transport)
    : machine_(machine),
      transport_(std::move(transport)),
      requests_(machine.io.get_executor(), kMostRequests),
      messages_(machine.io.get_executor(), kMostMessages),
      writer_(machine.io.get_executor()),
      others_(machine.io.get_executor()),
      patience_(machine.io),
      detach_timer_(machine.io),
      questions_(*this),
      threads_(*this),
      stop_came_(machine.io) {}

asio::awaitable<void> DebugSession::run() {
  writer_.spawn(write_messages());
  others_.spawn(read_requests());
  while (auto request = co_await requests_.pop(Deadline::in(kNever))) {
    if (request->command == kHoldBack) {
      if (sub_processes_ && !leaving_) {
        co_await sub_processes_->hold_back();
      }
      continue;
    }
    waiting_.erase(request->seq);
    running_ = request->seq;
    co_await answer(*std::move(request));
    running_.reset();
  }
  hurry();
  if (agent_) {
    if (!suspended_) {
      [[maybe_unused]] const auto left =
          co_await agent_->leave_interpreter(Deadline::in(kFarewell));
    }
    agent_->close();
  }
  if (job_) {
    co_await job_->close();
  }
  if (program_) {
    co_await program_->close(machine_.left);
  }
  messages_.close();
  patience_.cancel();
  others_.spawn(close_after(kFarewell));
  co_await writer_.join();
  detach_timer_.cancel();
  transport_->close();
  co_await others_.join();
}

void DebugSession::guard(std::string token, std::function<void()> on_token) {
  token_ = std::move(token);
  on_token_ = std::move(on_token);
  admitted_ = token_.empty();
  if (!admitted_) {
    transport_->set_largest_message(kLargestOfStranger);
    requests_.set_most(kMostOfStranger);
  }
  others_.spawn(end_unless_attached());
}

bool DebugSession::admits(const std::optional<std::string>& token) {
  if (guessed_wrong_ ||
      (!token_.empty() && !is_token(token.value_or(""), token_))) {
    return false;
  }
  if (!std::exchange(admitted_, true)) {
    transport_->set_largest_message(kLargestRequest);
    requests_.set_most(kMostRequests);
    on_token_();
  }
  return true;
}

// One guess a connection, also for what is in the queue.
std::unexpected<Error> DebugSession::refuse_token() {
  guessed_wrong_ = true;
  leave();
  return fail(ErrorId::NotPermitted,
              "this connection wants the token that `hangdbg serve` has "
              "printed",
              "\"token\": \"...\" in the attach request");
}

// A stranger has to go whatever is under way, also one that does not read; a
// known client may be about to attach.
asio::awaitable<void> DebugSession::end_unless_attached() {
  for (;;) {
    const bool was_admitted = admitted_;
    patience_.expires_after(was_admitted ? kAttachWithin : kTokenWithin);
    const auto [cut_short] = co_await patience_.async_wait(as_result);
    if (cut_short || phase_ == Phase::Attached || job_ || terminal_) {
      co_return;
    }
    if (!admitted_) {
      transport_->close();
    }
    if (!admitted_ || (was_admitted && !running_)) {
      co_return stop();
    }
  }
}

// The last answers may not find a reader.
asio::awaitable<void> DebugSession::close_after(
    Deadline::Clock::duration time) {
  detach_timer_.expires_after(time);
  co_await detach_timer_.async_wait(as_result);
  transport_->close();
}

void DebugSession::stop() {
  hurry();
  requests_.close();
}

// Ends all waits for the agent.
void DebugSession::hurry() {
  leaving_ = true;
  if (agent_) {
    agent_->interrupt();
  }
  if (job_) {
    job_->interrupt();
  }
  if (terminal_) {
    terminal_->hang_up();
  }
  stop_came_.cancel();
  for (asio::steady_timer* const nap : naps_) {
    nap->cancel();
  }
}

asio::awaitable<bool> DebugSession::nap(Deadline::Clock::duration time) {
  asio::steady_timer timer(machine_.io, time);
  co_return co_await nap(timer);
}

asio::awaitable<bool> DebugSession::nap(asio::steady_timer& timer) {
  if (!leaving_) {
    naps_.insert(&timer);
    co_await timer.async_wait(as_result);
    naps_.erase(&timer);
  }
  co_return !leaving_;
}

// ---- from the editor

asio::awaitable<void> DebugSession::read_requests() {
  while (!requests_.closed()) {
    const auto text = co_await transport_->read();
    if (!text) {
      log::info(log::Area::Dap, "the client: {}", text.error().text());
      break;
    }
    if (!*text) {
      break;
    }
    if (!has_secret(**text)) {
      log::trace(log::Area::Dap, "client -> {}", **text);
    }
    auto message = dap::parse_message(**text);
    if (!message) {
      co_await note("not understood: " + message.error().text());
    } else if (!co_await take(*std::move(message))) {
      break;
    }
  }
  hurry();
  requests_.close();
}

// Whether to read on.
asio::awaitable<bool> DebugSession::take(dap::Message message) {
  if (auto* const answer = std::get_if<dap::Response>(&message)) {
    questions_.take(std::move(*answer));
    co_return true;
  }
  auto* const request = std::get_if<dap::Request>(&message);
  if (request == nullptr) {
    co_return true;  // editors have no events
  }
  if (request->command == dap::Cancel::command) {
    co_await answer(std::move(*request));
    co_return true;
  }
  const bool last = request->command == dap::Disconnect::command;
  if (last) {
    hurry();
  }
  waiting_.insert(request->seq);
  co_return co_await requests_.push(std::move(*request)) && !last;
}

asio::awaitable<void> DebugSession::answer(dap::Request request) {
  const Handler* const handler = find_handler(request.command);
  dap::Response response;
  if (handler == nullptr) {
    response = refusal(request, {.id = ErrorId::BadMessage,
                                 .message = "no such request: " +
                                            request.command.substr(0, 100),
                                 .hint = {}});
  } else if (cancelled_.contains(request.seq)) {
    response = refusal(
        request,
        {.id = ErrorId::Interrupted, .message = "cancelled", .hint = {}});
  } else if (handler->needs == Phase::Attached && job_) {
    response = JobSession::answer(request);
  } else if (handler->needs > phase_) {
    response = refusal(request, {.id = ErrorId::BadMessage,
                                 .message = phase_ == Phase::Connected
                                                ? "initialize comes first"
                                                : "attach comes first",
                                 .hint = {}});
  } else {
    response = co_await handle(*handler, request);
  }
  cancelled_.erase(request.seq);
  const bool succeeded = response.success;
  co_await send(std::move(response));
  if (request.command != dap::Cancel::command) {  // beside another
    stops_wait_ = false;
    co_await tell_early_stops();
  }
  if (succeeded && handler->after != nullptr && !leaving_) {
    co_await do_after(*handler, request);
  }
}

// What one throws ends that request, and not the session.
asio::awaitable<dap::Response> DebugSession::handle(
    const Handler& handler,
    const dap::Request& request) {
  Error error{ErrorId::System, "this request has failed: ", {}};
  try {
    co_return co_await handler.handle(*this, request);
  } catch (const std::exception& thrown) {
    error.message += thrown.what();
  }
  co_return refusal(request, error);
}

asio::awaitable<void> DebugSession::do_after(const Handler& handler,
                                             const dap::Request& request) {
  try {
    co_await handler.after(*this, request);
  } catch (const std::exception& thrown) {
    log::warn(log::Area::Dap, "after {}: {}", request.command, thrown.what());
  }
}

void DebugSession::cancel(std::int64_t request) {
  if (running_ == request && agent_) {
    agent_->interrupt();
  } else if (waiting_.contains(request)) {
    cancelled_.insert(request);
  }
}

// ---- what the handlers do

void DebugSession::begin(dap::Initialize::Arguments editor) {
  editor_ = std::move(editor);
  phase_ = Phase::Initialized;
}

Translation DebugSession::translation_for(
    int pid,
    std::optional<std::vector<dap::PathMapping>> mappings) const {
  return {pid,
          {editor_.lines_start_at1.value_or(true),
           editor_.columns_start_at1.value_or(true),
           std::move(mappings).value_or(std::vector<dap::PathMapping>())}};
}

Status DebugSession::check_new() const {
  if (phase_ == Phase::Attached || job_ || terminal_ || program_) {
    return fail(ErrorId::BadMessage, "this session is attached already");
  }
  return {};
}

void DebugSession::attach(Injection made,
                          ThreadSamples before,
                          std::string thread,
                          Translation translation) {
  before_ = std::move(before);
  wanted_thread_ = std::move(thread);
  translation_ = std::move(translation);
  agent_ = agent_for(std::move(made));
  if (options_.just_my_code.value_or(false)) {
    agent_->look_at_my_code();
  }
  outside_.emplace(agent_->target());
  others_.spawn(pass_events());
  phase_ = Phase::Attached;
}

std::unique_ptr<AgentSession> DebugSession::agent_for(Injection made) {
  return std::make_unique<AgentSession>(
      machine_.io, machine_.pool.get_executor(), std::move(made),
      [this](const std::string& notice) { others_.spawn(note(notice)); });
}

asio::awaitable<Status> DebugSession::hold(std::int64_t thread) {
  const Deadline until = deadline();
  Elsewhere elsewhere = [this](std::function<Status()> work) {
    return on_pool(std::move(work));
  };
  Status held =
      co_await hold_thread(*agent_, thread, until, std::move(elsewhere));
  while (held && !holds(thread) && !until.expired() && !leaving_) {
    stop_came_.expires_at(until.at());
    co_await stop_came_.async_wait(as_result);
  }
  co_return held;
}

void DebugSession::goes_on(std::int64_t thread) {
  held_.erase(thread);
  answer_before_stops();
}

asio::awaitable<void> DebugSession::follow_sub_processes(
    dap::Attach::Arguments parent) {
  sub_processes_ = std::make_unique<SubProcesses>(*this, agent_->target().pid,
                                                  std::move(parent));
  co_await sub_processes_->hold_back();
  others_.spawn(sub_processes_->follow());
}

asio::awaitable<void> DebugSession::hold_children_back() {
  dap::Request own;
  own.command = kHoldBack;
  co_await requests_.push(std::move(own));
}

// ---- to the editor

asio::awaitable<void> DebugSession::note(std::string line) {
  dap::Output::Body body;
  body.category = "console";
  body.output = std::move(line) + "\n";
  return say<dap::Output>(std::move(body));
}

asio::awaitable<void> DebugSession::send(dap::Message message) {
  std::visit([this](auto& any) { any.seq = next_seq_++; }, message);
  co_await messages_.push(dap::to_text(message));
}

asio::awaitable<Result<dap::Response>> DebugSession::ask_editor(
    dap::Request question) {
  Questions::Asked asked(questions_, next_seq_, question.command);
  co_await send(std::move(question));  // gives it that number
  co_return co_await asked.answer();
}

asio::awaitable<void> DebugSession::write_messages() {
  while (auto text = co_await messages_.pop(Deadline::in(kNever))) {
    if (!has_secret(*text)) {
      log::trace(log::Area::Dap, "client <- {}", *text);
    }
    const auto written = co_await transport_->write(
        *std::move(text), Deadline::in(kDebugSessionPatience));
    if (!written) {
      log::info(log::Area::Dap, "the client: {}", written.error().text());
      break;
    }
  }
  messages_.close();
  co_await transport_->finish();
  stop();
}

asio::awaitable<void> DebugSession::pass_events() {
  while (auto event = co_await agent_->next_event(Deadline::in(kNever))) {
    if (event->event == dap::CoordinatorLeft::event) {
      co_await tell_coordinator_left();
      continue;
    }
    translation_->outward_event(*event);
    if (event->event == dap::Continued::event) {  // its time was up
      if (const auto body = dap::body_of<dap::Continued>(*event)) {
        held_.erase(body->thread_id);
      }
    }
    if (event->event == dap::Stopped::event) {
      if (const auto body = dap::body_of<dap::Stopped>(*event)) {
        held_.insert(body->thread_id.value_or(0));
        stop_came_.cancel();
      }
      if (stops_wait_ || !configured_) {
        early_stops_.push_back(*std::move(event));
        continue;
      }
    }
    co_await send(*std::move(event));
  }
  if (!leaving_) {
    co_await tell_end();
  }
}

// None while the editor is still setting what it wants to set.
asio::awaitable<void> DebugSession::tell_early_stops() {
  if (configured_) {
    for (dap::Event& event : std::exchange(early_stops_, {})) {
      co_await send(std::move(event));
    }
  }
}

// A rank's session is over with the job's: nothing keeps the others alive now.
asio::awaitable<void> DebugSession::tell_coordinator_left() {
  co_await note("the session of the whole job has ended, and this one with it");
  dap::Terminated::Body last;
  co_await say<dap::Terminated>(std::move(last));
}

asio::awaitable<void> DebugSession::tell_end() {
  const int pid = agent_->target().pid;
  if (const auto how = agent_->end()) {
    co_await note(how->text());
  }
  if (sub_processes_) {
    co_await sub_processes_->follow_exec();
  }
  const auto code = program_ ? co_await program_->end(Deadline::in(kToEnd))
                             : exit_code_of(pid);
  if (code && *code != Program::kUnknown) {
    dap::Exited::Body body;
    body.exit_code = *code;
    co_await say<dap::Exited>(std::move(body));
  }
  dap::Terminated::Body last;
  co_await say<dap::Terminated>(std::move(last));
}

void DebugSession::open_terminal(std::unique_ptr<RemoteTerminal> terminal) {
  terminal_ = std::move(terminal);
  others_.spawn(pass_terminal());
}

asio::awaitable<void> DebugSession::pass_terminal() {
  dap::TerminalEnded::Body last;
  last.exit_code =
      co_await terminal_->pass_output([this](dap::TerminalOutput::Body body) {
        return say<dap::TerminalOutput>(std::move(body));
      });
  co_await say<dap::TerminalEnded>(std::move(last));
  leave();
}

}  // namespace hangdbg
