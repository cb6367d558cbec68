#include "server/dap/console.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "protocol/events/continued.h"
#include "protocol/requests/frame_arguments.h"
#include "protocol/requests/raise.h"
#include "protocol/requests/whatis.h"
#include "server/coroutines/co_try.h"
#include "server/dap/console_source.h"
#include "server/dap/step.h"
#include "server/session/pdb_line.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr int kPrettyWidth = 80;

template <class T>
using Awaitable = asio::awaitable<Result<T>>;

using Typed = TypedInConsole;

using Run = Awaitable<ConsoleAnswer> (*)(DebugSession&, Typed);

enum class Takes { Nothing, Number, Lines, Expression, Path };

struct ConsoleCommand {
  std::vector<std::string_view> names;
  Takes takes;
  Run run;
  const char* help;
};

std::span<const ConsoleCommand> commands();

const ConsoleCommand* find_command(std::string_view name) {
  const auto found = std::ranges::find_if(commands(), [&](const auto& one) {
    return std::ranges::find(one.names, name) != one.names.end();
  });
  return found == commands().end() ? nullptr : &*found;
}

Word word_kind(std::string_view name) {
  const auto* const command = find_command(name);
  return command == nullptr                    ? Word::Python
         : command->takes == Takes::Expression ? Word::CommandOnExpression
                                               : Word::Command;
}

bool is_number(std::string_view text) {
  return parse_number<std::int32_t>(text).has_value();
}

// `n` takes none: `n + 1` is Python.
bool takes(const ConsoleCommand& command, std::string_view argument) {
  switch (command.takes) {
    case Takes::Nothing:
      return argument.empty();
    case Takes::Number:
      return argument.empty() || is_number(argument);
    case Takes::Lines:
      return argument.empty() || argument == "." ||
             is_number(argument.substr(0, argument.find(',')));
    case Takes::Expression:
      return !argument.empty();
    case Takes::Path:
      return argument.empty() || argument.ends_with(".py");
  }
  return false;
}

// Names alone: it runs nothing.
asio::awaitable<bool> is_name_there(DebugSession& session,
                                    const std::string& word,
                                    std::int64_t frame) {
  dap::Evaluate::Arguments question;
  question.expression = word;
  question.frame_id = frame;
  question.context = "hover";
  const auto found = co_await session.agent().call<dap::Evaluate>(
      std::move(question), session.deadline());
  co_return found.has_value();
}

// ---- values

Awaitable<ConsoleAnswer> print(DebugSession&, Typed typed) {
  typed.python.expression = std::move(typed.argument);
  co_return ConsoleAnswer(std::move(typed.python));
}

Awaitable<ConsoleAnswer> print_pretty(DebugSession& session, Typed typed) {
  CO_CHECK(co_await session.agent().need("objects", session.deadline()));
  typed.python.pretty = kPrettyWidth;
  co_return co_await print(session, std::move(typed));
}

Awaitable<ConsoleAnswer> whatis(DebugSession& session, Typed typed) {
  CO_CHECK(co_await session.agent().need("objects", session.deadline()));
  dap::Whatis::Arguments question{std::move(typed.argument), typed.frame_id()};
  CO_TRY(auto body, co_await session.agent().call<dap::Whatis>(
                        std::move(question), session.deadline()));
  co_return ConsoleAnswer(std::move(body.text));
}

Awaitable<ConsoleAnswer> arguments(DebugSession& session, Typed typed) {
  dap::FrameArguments::Arguments question{typed.frame_id()};
  CO_TRY(const auto body, co_await session.agent().call<dap::FrameArguments>(
                              question, session.deadline()));
  std::string text;
  for (const dap::Variable& variable : body.variables) {
    text += fmt::format("{} = {}\n", variable.name, variable.value);
  }
  co_return ConsoleAnswer(std::move(text));
}

// ---- going on

// The editor has not asked for it, so it is told.
Awaitable<ConsoleAnswer> tell_that_it_goes(DebugSession& session,
                                           std::int64_t thread) {
  dap::Continued::Body body;
  body.thread_id = thread;
  body.all_threads_continued = false;
  session.answer_before_stops();
  co_await session.say<dap::Continued>(std::move(body));
  co_return ConsoleAnswer(std::string());
}

template <StepKind kKind>
Awaitable<ConsoleAnswer> step_on(DebugSession& session, Typed typed) {
  const auto line =
      parse_number<std::int64_t>(typed.argument).value_or(typed.place.line + 1);
  const auto thread = typed.place.thread;
  const Step how{kKind, line};
  CO_CHECK(co_await step(session, thread, how));
  co_return co_await tell_that_it_goes(session, thread);
}

Awaitable<ConsoleAnswer> debug(DebugSession& session, Typed typed) {
  const auto thread = typed.place.thread;
  if (!session.holds(thread)) {
    co_return fail(ErrorId::Usage, "the thread is not suspended", "hold");
  }
  dap::Debug::Arguments what{thread, typed.frame_id(),
                             std::move(typed.argument)};
  session.goes_on(thread);
  const Status done = co_await debug_in_thread(
      session.agent(), thread, std::move(what), session.deadline());
  if (!done) {
    session.stays(thread);
    co_return std::unexpected(done.error());
  }
  co_return co_await tell_that_it_goes(session, thread);
}

Awaitable<ConsoleAnswer> raise(DebugSession& session, Typed typed) {
  const auto thread = typed.place.thread;
  if (!session.holds(thread)) {
    co_return fail(ErrorId::Usage, "the thread is not suspended", "hold");
  }
  CO_CHECK(co_await session.agent().need("raising", session.deadline()));
  dap::Raise::Arguments what{thread, typed.frame_id(),
                             std::move(typed.argument)};
  session.translation().inward(what);
  session.goes_on(thread);
  const auto raised = co_await session.agent().call<dap::Raise>(
      std::move(what), session.deadline());
  if (!raised) {
    session.stays(thread);
    co_return std::unexpected(raised.error());
  }
  CO_CHECK(co_await tell_that_it_goes(session, thread));
  co_return ConsoleAnswer(
      raised->when == "now"
          ? std::string("it is raised now")
          : std::string("it is raised when its call returns: only the main "
                        "thread's can be broken"));
}

Awaitable<ConsoleAnswer> go_on(DebugSession& session, Typed typed) {
  CO_CHECK(co_await let_go(session, typed.place.thread));
  co_return co_await tell_that_it_goes(session, typed.place.thread);
}

Awaitable<ConsoleAnswer> jump(DebugSession& session, Typed typed) {
  const auto line = parse_number<std::int64_t>(typed.argument);
  if (!line) {
    co_return fail(ErrorId::Usage, "j wants a line number");
  }
  if (!session.holds(typed.place.thread)) {
    CO_CHECK(co_await session.hold(typed.place.thread));
  }
  session.answer_before_stops();
  CO_CHECK(co_await jump_thread(session.agent(), typed.place.thread, *line,
                                session.deadline()));
  co_return ConsoleAnswer(std::string());
}

Awaitable<ConsoleAnswer> hold(DebugSession& session, Typed typed) {
  session.answer_before_stops();
  CO_CHECK(co_await session.hold(typed.place.thread));
  co_return ConsoleAnswer(std::string("held"));
}

// ---- help

Awaitable<ConsoleAnswer> editors(DebugSession&, Typed) {
  co_return fail(
      ErrorId::Usage,
      "the editor does that: by its call stack, and beside the line");
}

Awaitable<ConsoleAnswer> help(DebugSession&, Typed) {
  std::string text;
  for (const ConsoleCommand& command : commands()) {
    std::string names;
    for (const std::string_view name : command.names) {
      names += names.empty() ? name : fmt::format(" {}", name);
    }
    text += fmt::format("{:<16} {}\n", names, command.help);
  }
  text +=
      "Everything else is Python; so is a command's name that the frame has.\n";
  co_return ConsoleAnswer(std::move(text));
}

std::span<const ConsoleCommand> commands() {
  using enum Takes;
  static const std::array<ConsoleCommand, 20> table = {{
      {{"p"}, Expression, print, "the value of an expression"},
      {{"pp"}, Expression, print_pretty, "the value, in lines"},
      {{"whatis"}, Expression, whatis, "its type"},
      {{"a", "args"}, Nothing, arguments, "what the function was called with"},
      {{"w", "where", "bt"}, Nothing, where_in_console, "the stack"},
      {{"l", "list"},
       Lines,
       list_in_console,
       "the source around the line, or those lines"},
      {{"ll", "longlist"},
       Nothing,
       list_function_in_console,
       "the whole function"},
      {{"n", "next"}, Nothing, step_on<StepKind::Next>, "to the next line"},
      {{"s", "step"}, Nothing, step_on<StepKind::Into>, "into what it calls"},
      {{"r", "return"}, Nothing, step_on<StepKind::Out>, "to the caller"},
      {{"unt", "until"},
       Number,
       step_on<StepKind::Until>,
       "to a later line of this function"},
      {{"j", "jump"}, Number, jump, "go on at another line"},
      {{"c", "cont", "continue", "release"},
       Nothing,
       go_on,
       "resume the thread"},
      {{"debug"}, Expression, debug, "run that here, and stop in it"},
      {{"raise"}, Expression, raise, "raise that exception in the thread"},
      {{"hold"}, Nothing, hold, "suspend the thread"},
      {{"reload"},
       Path,
       reload_in_console,
       "give functions the code of their file now"},
      {{"u", "up", "d", "down"}, Number, editors, "choose in the call stack"},
      {{"b", "break", "tbreak", "cl", "clear"},
       Lines,
       editors,
       "set breakpoints in the editor"},
      {{"h", "help"}, Nothing, help, "this"},
  }};
  return table;
}

}  // namespace

Awaitable<ConsoleAnswer> run_in_console(DebugSession& session,
                                        dap::Evaluate::Arguments typed) {
  TypedCommand line = parse_command(typed.expression, word_kind);
  const ConsoleCommand* const command = find_command(line.name);
  const auto frame = typed.frame_id.value_or(0);
  if (line.name.empty()) {
    typed.expression = std::move(line.argument);
    co_return ConsoleAnswer(std::move(typed));
  }
  if (command == nullptr || !takes(*command, line.argument)) {
    co_return ConsoleAnswer(std::move(typed));
  }
  const auto place = session.shown().frame(frame);
  const bool bare = line.argument.empty() && line.name != "next" &&
                    line.name != "list" && line.name != "help";
  if (bare && co_await is_name_there(session, line.name, frame)) {
    co_return ConsoleAnswer(std::move(typed));
  }
  if (!place) {
    co_return fail(ErrorId::Usage,
                   line.name + " wants a frame: choose one in the call stack");
  }
  Typed whole{std::move(typed), std::move(line.argument), *place};
  co_return co_await command->run(session, std::move(whole));
}

}  // namespace hangdbg
