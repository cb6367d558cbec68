#include "server/dap/debug_session.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>

#include "base/log.h"
#include "protocol/events/breakpoint.h"
#include "protocol/events/continued.h"
#include "protocol/events/exited.h"
#include "protocol/events/output.h"
#include "protocol/events/stopped.h"
#include "protocol/events/terminal_ended.h"
#include "protocol/events/terminated.h"
#include "protocol/events/thread.h"
#include "server/dap/access.h"
#include "server/dap/handlers.h"
#include "server/hold.h"
#include "server/target_end.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr auto kNever = Deadline::Clock::duration(std::chrono::hours(24 * 365));

constexpr std::size_t kMostRequests = 256;
// Each may be megabytes.
constexpr std::size_t kMostMessages = 4;
constexpr std::size_t kMostTargets = 1'000;
constexpr std::size_t kMostFrames = 10'000;
// How long an editor may not read, and how long when it has left.
constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kFarewell = std::chrono::milliseconds(500);
constexpr auto kToEnd = std::chrono::seconds(2);  // of a program of ours
constexpr auto kBetweenPolls = std::chrono::seconds(1);
// A person may have to say something first.
constexpr auto kEditorsAnswer = std::chrono::seconds(60);

// A token is not for a log.
bool has_secret(const std::string& message) {
  return message.find("token") != std::string::npos;
}

// What the agent says unasked has its threads' numbers and its files.
template <class Kind>
bool translate_as(dap::Event& event, Translation& translation) {
  if (event.event != Kind::event) {
    return false;
  }
  if (auto body = dap::body_of<Kind>(event)) {
    translation.outward(*body);
    event.body = encode(*body);
  }
  return true;
}

void translate(dap::Event& event, Translation& translation) {
  [[maybe_unused]] const bool known =
      translate_as<dap::Output>(event, translation) ||
      translate_as<dap::Stopped>(event, translation) ||
      translate_as<dap::BreakpointEvent>(event, translation) ||
      translate_as<dap::Continued>(event, translation) ||
      translate_as<dap::ThreadEvent>(event, translation);
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
      farewell_(machine.io),
      stop_came_(machine.io) {}

asio::awaitable<void> DebugSession::run() {
  writer_.spawn(write_messages());
  others_.spawn(read_requests());
  while (auto request = co_await requests_.pop(Deadline::in(kNever))) {
    waiting_.erase(request->seq);
    running_ = request->seq;
    co_await answer(*std::move(request));
    running_.reset();
  }
  hurry();
  if (agent_) {
    [[maybe_unused]] const auto left =
        co_await agent_->leave_interpreter(Deadline::in(kFarewell));
    agent_->close();
  }
  if (program_) {
    co_await program_->close();
  }
  stop_came_.cancel();
  messages_.close();
  patience_.cancel();
  others_.spawn(close_after(kFarewell));
  co_await writer_.join();
  farewell_.cancel();
  transport_->close();
  co_await others_.join();
}

void DebugSession::guard(std::string token,
                         Deadline::Clock::duration attach_within) {
  token_ = std::move(token);
  others_.spawn(end_unless_attached(attach_within));
}

bool DebugSession::admits(const std::optional<std::string>& token) const {
  return token_.empty() || is_token(token.value_or(""), token_);
}

// One guess a connection.
std::unexpected<Error> DebugSession::refuse_token() {
  leave();
  return fail(ErrorId::NotPermitted,
              "this connection wants the token that `hangdbg serve` has "
              "printed",
              "\"token\": \"...\" in the attach request");
}

asio::awaitable<void> DebugSession::end_unless_attached(
    Deadline::Clock::duration within) {
  patience_.expires_after(within);
  const auto [cut_short] = co_await patience_.async_wait(as_result);
  if (!cut_short && phase_ != Phase::Attached && !terminal_) {
    stop();
  }
}

// The last answers may not find a reader.
asio::awaitable<void> DebugSession::close_after(
    Deadline::Clock::duration time) {
  farewell_.expires_after(time);
  co_await farewell_.async_wait(as_result);
  transport_->close();
}

void DebugSession::stop() {
  hurry();
  requests_.close();
}

// Whoever waits for the agent waits no longer.
void DebugSession::hurry() {
  leaving_ = true;
  if (agent_) {
    agent_->interrupt();
  }
  if (terminal_) {
    terminal_->hang_up();
  }
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
    const auto asked = questions_.find(answer->request_seq);
    if (asked != questions_.end()) {
      asked->second->answer = std::move(*answer);
      asked->second->answered.cancel();
    }
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
  } else if (handler->needs > phase_) {
    response = refusal(request, {.id = ErrorId::BadMessage,
                                 .message = phase_ == Phase::Connected
                                                ? "initialize comes first"
                                                : "attach comes first",
                                 .hint = {}});
  } else {
    response = co_await handler->handle(*this, request);
  }
  cancelled_.erase(request.seq);
  const bool succeeded = response.success;
  co_await send(std::move(response));
  stops_wait_ = false;
  co_await tell_early_stops();
  if (succeeded && handler->after != nullptr && !leaving_) {
    co_await handler->after(*this, request);
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
  if (phase_ == Phase::Attached || terminal_ || program_) {
    return fail(ErrorId::BadMessage, "this session is attached already");
  }
  return {};
}

void DebugSession::attach(Injection made,
                          ThreadLooks before,
                          std::string thread,
                          Translation translation) {
  before_ = std::move(before);
  wanted_thread_ = std::move(thread);
  translation_ = std::move(translation);
  agent_ = std::make_unique<AgentSession>(
      machine_.io, machine_.pool.get_executor(), std::move(made),
      [this](const std::string& notice) { others_.spawn(note(notice)); });
  if (options_.just_my_code.value_or(false)) {
    agent_->look_at_my_code();
  }
  outside_.emplace(agent_->target());
  others_.spawn(pass_events());
  phase_ = Phase::Attached;
}

void DebugSession::set_known_threads(std::set<std::int64_t> threads) {
  known_threads_ = std::move(threads);
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

void DebugSession::note_frames(std::int64_t thread,
                               const dap::StackTrace::Body& stack) {
  if (frames_.size() > kMostFrames) {
    frames_.clear();
  }
  for (const dap::StackFrame& frame : stack.stack_frames) {
    frames_[frame.id] = {thread,
                         frame.source ? frame.source->path.value_or("") : "",
                         frame.line};
  }
}

std::optional<DebugSession::FramePlace> DebugSession::place_of(
    std::int64_t frame) const {
  const auto found = frames_.find(frame);
  return found == frames_.end() ? std::nullopt : std::optional(found->second);
}

// The editor asks for one just before it goes there: old ones may be forgotten.
std::int64_t DebugSession::add_goto_target(Place place) {
  if (goto_targets_.size() == kMostTargets) {
    goto_targets_.clear();
  }
  goto_targets_.push_back(std::move(place));
  return std::ssize(goto_targets_);
}

std::optional<DebugSession::Place> DebugSession::goto_target(
    std::int64_t number) const {
  if (number < 1 || number > std::ssize(goto_targets_)) {
    return std::nullopt;
  }
  return goto_targets_[static_cast<std::size_t>(number - 1)];
}

void DebugSession::follow_sub_processes(dap::Attach::Arguments parent) {
  sub_processes_ = std::make_unique<SubProcesses>(*this, agent_->target().pid,
                                                  std::move(parent));
  others_.spawn(sub_processes_->follow());
}

void DebugSession::watch_threads() {
  others_.spawn(poll_threads());
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
  const std::string command = question.command;
  const std::int64_t number = next_seq_;  // send() gives it this one
  Question asked{asio::steady_timer(machine_.io, kEditorsAnswer), {}};
  questions_.emplace(number, &asked);
  co_await send(std::move(question));
  if (!asked.answer) {
    co_await nap(asked.answered);
  }
  questions_.erase(number);
  if (asked.answer) {
    co_return *std::move(asked.answer);
  }
  co_return leaving_
      ? fail(ErrorId::ChannelClosed, "the editor leaves")
      : fail(ErrorId::TimedOut, "the editor has not answered " + command);
}

asio::awaitable<void> DebugSession::write_messages() {
  while (auto text = co_await messages_.pop(Deadline::in(kNever))) {
    if (!has_secret(*text)) {
      log::trace(log::Area::Dap, "client <- {}", *text);
    }
    const auto written =
        co_await transport_->write(*std::move(text), Deadline::in(kPatience));
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
    translate(*event, *translation_);
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
  if (code) {
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

// What the kernel lists costs little; what Python makes of it is asked only
// when that has changed.
asio::awaitable<void> DebugSession::poll_threads() {
  const int pid = agent_->target().pid;
  auto tasks = list_tasks(pid);
  while (tasks && co_await nap(kBetweenPolls)) {
    auto now = list_tasks(pid);
    if (now && *now != *tasks) {
      co_await compare_threads();
    }
    tasks = std::move(now);
  }
}

asio::awaitable<void> DebugSession::compare_threads() {
  const auto listed = agent_->threads_outside();
  if (!listed) {
    co_return;
  }
  std::set<std::int64_t> threads;
  for (const dap::Thread& thread : listed->threads) {
    threads.insert(thread.id);
  }
  const auto before = std::exchange(known_threads_, threads);
  for (const std::int64_t thread : threads) {
    if (!before.contains(thread)) {
      co_await tell_thread("started", thread);
    }
  }
  for (const std::int64_t thread : before) {
    if (!threads.contains(thread)) {
      co_await tell_thread("exited", thread);
    }
  }
}

asio::awaitable<void> DebugSession::tell_thread(std::string what,
                                                std::int64_t thread) {
  return say<dap::ThreadEvent>({std::move(what), thread});
}

}  // namespace hangdbg
