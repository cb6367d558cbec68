#include "server/dap/handlers.h"

#include <algorithm>
#include <array>

#include "inspector/cpython/expressions/expression.h"
#include "protocol/requests/breakpoint_locations.h"
#include "protocol/requests/completions.h"
#include "protocol/requests/data_breakpoint_info.h"
#include "protocol/requests/evaluate.h"
#include "protocol/requests/exception_info.h"
#include "protocol/requests/loaded_sources.h"
#include "protocol/requests/modules.h"
#include "protocol/requests/set_breakpoints.h"
#include "protocol/requests/set_data_breakpoints.h"
#include "protocol/requests/set_exception_breakpoints.h"
#include "protocol/requests/set_expression.h"
#include "protocol/requests/set_function_breakpoints.h"
#include "protocol/requests/set_variable.h"
#include "protocol/requests/variables.h"
#include "server/dap/console.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

// ---- those that have a struct

template <class H>
asio::awaitable<dap::Response> handle(DebugSession& session,
                                      const dap::Request& request) {
  auto arguments = dap::arguments_of<typename H::Pair>(request);
  if (!arguments) {
    co_return refusal(request, arguments.error());
  }
  const auto body = co_await H::handle(session, *std::move(arguments));
  if (!body) {
    co_return refusal(request, body.error(),
                      H::Pair::command == dap::Attach::command ||
                          H::Pair::command == dap::Launch::command);
  }
  co_return dap::make_response<typename H::Pair>(0, request, *body);
}

template <class H>
asio::awaitable<void> after(DebugSession& session,
                            const dap::Request& request) {
  auto arguments = dap::arguments_of<typename H::Pair>(request);
  return H::after(session, *std::move(arguments));
}

template <class H>
constexpr Handler own() {
  Handler handler{H::Pair::command, H::kNeeds, nullptr, &handle<H>, nullptr};
  if constexpr (requires { &H::declare; }) {
    handler.declare = &H::declare;
  }
  if constexpr (requires { &H::after; }) {
    handler.after = &after<H>;
  }
  return handler;
}

// ---- those that the agent answers

// What has to be done before the agent's request.
using Prepare = asio::awaitable<Status> (*)(DebugSession& session);

asio::awaitable<Status> with_completions(DebugSession& session) {
  return session.agent().need("completions", session.deadline());
}

// A thread may reach one before we have said what its number is.
asio::awaitable<Status> with_breakpoints(DebugSession& session) {
  session.answer_before_stops();
  session.set_breaking();
  return session.agent().need_breakpoints(session.deadline());
}

asio::awaitable<Status> with_data_breakpoints(DebugSession& session) {
  const Status there = co_await with_breakpoints(session);
  co_return there
      ? co_await session.agent().need("data_breakpoints", session.deadline())
      : there;
}

asio::awaitable<Status> with_modules(DebugSession& session) {
  return session.agent().need("modules", session.deadline());
}

// Its refusal is passed on as it is: it may have a traceback.
template <class Pair, Prepare kPrepare>
asio::awaitable<dap::Response> pass_on(DebugSession& session,
                                       const dap::Request& request) {
  auto arguments = dap::arguments_of<Pair>(request);
  if (!arguments) {
    co_return refusal(request, arguments.error());
  }
  session.translation().inward(*arguments);
  if constexpr (kPrepare != nullptr) {
    if (const Status there = co_await kPrepare(session); !there) {
      co_return refusal(request, there.error());
    }
  }
  auto question = dap::make_request<Pair>(0, *arguments);
  auto answer = co_await session.agent().call_raw(std::move(question),
                                                  session.deadline());
  if (!answer) {
    co_return refusal(request, answer.error());
  }
  if (answer->success) {
    auto body = dap::body_of<Pair>(*answer);
    if (!body) {
      co_return refusal(request, body.error());
    }
    session.translation().outward(*body);
    answer->body = encode(*body);
  }
  answer->request_seq = request.seq;
  co_return *std::move(answer);
}

template <class Pair, Prepare kPrepare = nullptr>
constexpr Handler agents(void (*declare)(dap::Capabilities&) = nullptr) {
  return {Pair::command, DebugSession::Phase::Attached, declare,
          &pass_on<Pair, kPrepare>, nullptr};
}

// ---- those that the agent answers, but for what was read out of process

bool is_outside(const dap::Variables::Arguments& wanted) {
  return OutOfProcessValues::is_ours(wanted.variables_reference);
}

bool is_outside(const dap::Evaluate::Arguments& wanted) {
  return wanted.frame_id && OutOfProcessValues::is_ours(*wanted.frame_id);
}

Result<dap::Variables::Body> read(OutOfProcessValues& from,
                                  const dap::Variables::Arguments& wanted) {
  return from.variables(wanted);
}

Result<dap::Evaluate::Body> read(OutOfProcessValues& from,
                                 const dap::Evaluate::Arguments& wanted) {
  return from.evaluate(wanted);
}

template <class Pair>
asio::awaitable<dap::Response> read_or_pass_on(DebugSession& session,
                                               const dap::Request& request) {
  const auto arguments = dap::arguments_of<Pair>(request);
  if (!arguments || !is_outside(*arguments)) {
    co_return co_await pass_on<Pair, nullptr>(session, request);
  }
  auto body = co_await session.on_pool(
      [&] { return read(session.outside(), *arguments); });
  if (!body && body.error().hint == kEvalHint) {
    body.error().hint = "it can be run now: ask for the stack again";
    if (co_await session.agent().read_only()) {
      const std::string why = co_await session.agent().why_read_only();
      body.error().hint = "not now, " + why;
    }
  }
  co_return body ? dap::make_response<Pair>(0, request, *body)
                 : refusal(request, body.error());
}

// What is typed in the console may be a command.
asio::awaitable<dap::Response> evaluate(DebugSession& session,
                                        const dap::Request& request) {
  auto arguments = dap::arguments_of<dap::Evaluate>(request);
  if (!arguments || arguments->context != "repl") {
    co_return co_await read_or_pass_on<dap::Evaluate>(session, request);
  }
  auto answer = co_await run_in_console(session, *std::move(arguments));
  if (!answer) {
    co_return refusal(request, answer.error());
  }
  if (const auto* const said = std::get_if<std::string>(&*answer)) {
    dap::Evaluate::Body body;
    body.result = *said;
    co_return dap::make_response<dap::Evaluate>(0, request, body);
  }
  dap::Request python = request;
  python.arguments = encode(std::get<dap::Evaluate::Arguments>(*answer));
  co_return co_await read_or_pass_on<dap::Evaluate>(session, python);
}

// ---- sets of breakpoints, each in place of the one before

bool is_empty(const dap::SetBreakpoints::Arguments& set) {
  return !set.breakpoints || set.breakpoints->empty();
}

bool is_empty(const dap::SetFunctionBreakpoints::Arguments& set) {
  return set.breakpoints.empty();
}

bool is_empty(const dap::SetDataBreakpoints::Arguments& set) {
  return set.breakpoints.empty();
}

bool is_empty(const dap::SetExceptionBreakpoints::Arguments& set) {
  return set.filters.empty() &&
         (!set.filter_options || set.filter_options->empty()) &&
         (!set.exception_options || set.exception_options->empty());
}

// What a program that was launched with noDebug has: none that stops.
template <class Pair>
typename Pair::Body unset(const typename Pair::Arguments& wanted) {
  typename Pair::Body body;
  if constexpr (requires { wanted.breakpoints; }) {
    std::size_t count = 0;
    if constexpr (requires { wanted.breakpoints->size(); }) {
      count = wanted.breakpoints ? wanted.breakpoints->size() : 0;
    } else {
      count = wanted.breakpoints.size();
    }
    body.breakpoints.resize(count);
    for (auto& breakpoint : body.breakpoints) {
      breakpoint.message = "the program runs without debugging (noDebug)";
    }
  }
  return body;
}

// Editors send all kinds when they attach: the empty ones cost nothing. What is
// set while the GIL is held waits no longer than it must.
template <class Pair, Prepare kPrepare>
asio::awaitable<dap::Response> set(DebugSession& session,
                                   const dap::Request& request) {
  AgentSession& agent = session.agent();
  const auto arguments = dap::arguments_of<Pair>(request);
  if (arguments && is_empty(*arguments) && !session.breaking()) {
    co_return dap::make_response<Pair>(0, request, {});
  }
  if (arguments && session.stops_nothing()) {
    co_return dap::make_response<Pair>(0, request, unset<Pair>(*arguments));
  }
  // A look, which gives up early.
  [[maybe_unused]] const auto seen = co_await agent.hello(session.deadline());
  const bool read_only = co_await agent.read_only();
  if (read_only) {
    const std::string why = co_await agent.why_read_only();
    const Error error{ErrorId::GilHeld, "not now: " + why,
                      "set it again when that is free; stacks and values can "
                      "be looked at meanwhile"};
    co_return refusal(request, error);
  }
  co_return co_await pass_on<Pair, kPrepare>(session, request);
}

template <class Pair, Prepare kPrepare = &with_breakpoints>
constexpr Handler sets(void (*declare)(dap::Capabilities&) = nullptr) {
  return {Pair::command, DebugSession::Phase::Attached, declare,
          &set<Pair, kPrepare>, nullptr};
}

// None is on by default: that would cost a program that is not to stop.
std::vector<dap::ExceptionFilter> exception_filters() {
  const auto filter = [](const char* id, const char* label,
                         const char* description) {
    return dap::ExceptionFilter{.filter = id,
                                .label = label,
                                .description = description,
                                .is_default = false,
                                .supports_condition = true,
                                .condition_description =
                                    "KeyError, (OSError, ValueError), or an "
                                    "expression of __exception__"};
  };
  return {
      filter("raised", "Raised Exceptions", "where they are raised"),
      filter("uncaught", "Uncaught Exceptions", "where nobody catches them"),
      filter("userUnhandled", "User Uncaught Exceptions",
             "where they leave your code for a library's")};
}

// ---- the table

constexpr std::array kHandlers = {
    own<InitializeHandler>(),
    own<AttachHandler>(),
    own<LaunchHandler>(),
    own<ConfigurationDoneHandler>(),
    own<ThreadsHandler>(),
    own<StackTraceHandler>(),
    own<ScopesHandler>(),
    own<SourceHandler>(),
    own<ContinueHandler>(),
    own<PauseHandler>(),
    own<NextHandler>(),
    own<StepInHandler>(),
    own<StepInTargetsHandler>(),
    own<StepOutHandler>(),
    own<GotoTargetsHandler>(),
    own<GotoHandler>(),
    own<CancelHandler>(),
    own<TerminalHandler>(),
    own<TerminalInputHandler>(),
    own<TerminalResizeHandler>(),
    own<TerminateHandler>(),
    own<VerdictHandler>(),
    own<DisconnectHandler>(),
    Handler{dap::Variables::command, DebugSession::Phase::Attached, nullptr,
            &read_or_pass_on<dap::Variables>, nullptr},
    Handler{dap::Evaluate::command, DebugSession::Phase::Attached,
            [](dap::Capabilities& capabilities) {
              capabilities.supports_evaluate_for_hovers = true;
              capabilities.supports_clipboard_context = true;
            },
            &evaluate, nullptr},
    agents<dap::Completions, &with_completions>(
        [](dap::Capabilities& capabilities) {
          capabilities.supports_completions_request = true;
          capabilities.completion_trigger_characters = {"."};
        }),
    agents<dap::SetVariable>([](dap::Capabilities& capabilities) {
      capabilities.supports_set_variable = true;
    }),
    agents<dap::SetExpression>([](dap::Capabilities& capabilities) {
      capabilities.supports_set_expression = true;
    }),
    sets<dap::SetBreakpoints>([](dap::Capabilities& capabilities) {
      capabilities.supports_conditional_breakpoints = true;
      capabilities.supports_hit_conditional_breakpoints = true;
      capabilities.supports_log_points = true;
    }),
    sets<dap::SetFunctionBreakpoints>([](dap::Capabilities& capabilities) {
      capabilities.supports_function_breakpoints = true;
    }),
    sets<dap::SetExceptionBreakpoints>([](dap::Capabilities& capabilities) {
      capabilities.exception_breakpoint_filters = exception_filters();
      capabilities.supports_exception_filter_options = true;
      capabilities.supports_exception_options = true;
    }),
    agents<dap::DataBreakpointInfo, &with_data_breakpoints>(),
    sets<dap::SetDataBreakpoints, &with_data_breakpoints>(
        [](dap::Capabilities& capabilities) {
          capabilities.supports_data_breakpoints = true;
        }),
    agents<dap::ExceptionInfo, &with_breakpoints>(
        [](dap::Capabilities& capabilities) {
          capabilities.supports_exception_info_request = true;
        }),
    agents<dap::BreakpointLocations, &with_breakpoints>(
        [](dap::Capabilities& capabilities) {
          capabilities.supports_breakpoint_locations_request = true;
        }),
    agents<dap::Modules, &with_modules>([](dap::Capabilities& capabilities) {
      capabilities.supports_modules_request = true;
    }),
    agents<dap::LoadedSources, &with_modules>(
        [](dap::Capabilities& capabilities) {
          capabilities.supports_loaded_sources_request = true;
        }),
};

}  // namespace

const Handler* find_handler(std::string_view command) {
  const auto* const found =
      std::ranges::find(kHandlers, command, &Handler::command);
  return found == kHandlers.end() ? nullptr : found;
}

dap::Capabilities all_capabilities() {
  dap::Capabilities capabilities;
  for (const Handler& handler : kHandlers) {
    if (handler.declare != nullptr) {
      handler.declare(capabilities);
    }
  }
  return capabilities;
}

dap::Response refusal(const dap::Request& request,
                      const Error& error,
                      bool in_dialog) {
  auto response = dap::make_failure(0, request, error);
  if (error.id == ErrorId::Interrupted) {
    response.message = "cancelled";  // DAP's word for it
  }
  auto body = decode<dap::ErrorBody>(response.body).value_or(dap::ErrorBody());
  body.error.show_user = in_dialog;
  if (!error.hint.empty()) {
    body.error.format += "\n" + error.hint;
  }
  if (error.id == ErrorId::Yama) {
    body.error.url = "https://docs.kernel.org/admin-guide/LSM/Yama.html";
    body.error.url_label = "About ptrace_scope";
  }
  response.body = encode(body);
  return response;
}

}  // namespace hangdbg
