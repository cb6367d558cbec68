// What: p, pp, peek, a, whatis, ! and plain Python.
#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "injector/checks/preflight.h"
#include "inspector/cpython/expressions/peek.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/snapshot/shown_thread.h"
#include "protocol/requests/evaluate.h"
#include "protocol/requests/frame_arguments.h"
#include "protocol/requests/scopes.h"
#include "protocol/requests/variables.h"
#include "protocol/requests/whatis.h"

namespace hangdbg {
namespace {

enum class None { Show, Hide };

Status evaluate(PromptState& state,
                std::string_view expression,
                std::optional<std::int64_t> pretty_columns,
                None none) {
  const auto body = TRY(ask_in_frame<dap::Evaluate>(
      state,
      {.expression = std::string(expression), .pretty = pretty_columns}));
  const auto detail = body.hangdbg.value_or(dap::EvaluateDetail{});
  if (!detail.none || (none == None::Show && !detail.statement)) {
    say("{}\n", foreign(body.result));
  }
  if (detail.truncated > 0) {
    say("{}\n",
        state.out.dim(fmt::format("... {} more characters", detail.truncated)));
  }
  return {};
}

Status require(std::string_view expression, const char* command) {
  if (expression.empty()) {
    return fail(ErrorId::Usage, fmt::format("{} needs an expression", command),
                fmt::format("help {}", command));
  }
  return {};
}

Status print(PromptState& state, std::string_view expression) {
  TRY(require(expression, "p"));
  return evaluate(state, expression, std::nullopt, None::Show);
}

Status print_pretty(PromptState& state, std::string_view expression) {
  TRY(require(expression, "pp"));
  TRY(state.session.need("objects", state.deadline()));
  return evaluate(state, expression, terminal_columns(), None::Show);
}

// The place's frame is found again by how far it is from the outermost one.
Result<Peeked> peek_in_frame(const PromptState& state,
                             std::string_view expression) {
  const Expression parsed = TRY(parse_expression(expression));
  const AttachTarget& target = state.session.target();
  const Place& place = state.place;
  const FoundThread found =
      TRY(find_thread(LiveTarget(target), std::to_string(place.thread().tid)));
  const auto& frames = found.stack.frames;
  const std::size_t from_outermost = place.depth() - place.index();
  if (from_outermost > frames.size() ||
      frames[frames.size() - from_outermost].function != place.frame().name) {
    return fail(ErrorId::NoSuchFrame, "the frame has returned", "where");
  }
  const ObjectReader objects =
      TRY(ObjectReader::open(target.memory, target.python));
  objects.allow_reads(kReadsOfASearch);
  return peek(objects, frames[frames.size() - from_outermost], parsed,
              kFullRepr);
}

// From memory: also while the GIL is held.
Status peek_there(PromptState& state, std::string_view expression) {
  TRY(require(expression, "peek"));
  auto peeked = peek_in_frame(state, expression);
  if (!peeked && peeked.error().hint == kEvalHint) {
    peeked.error().hint = fmt::format("p {}", expression);
  }
  say("{}\n", foreign(TRY(std::move(peeked)).text));
  return {};
}

Status run_python(PromptState& state, std::string_view statement) {
  TRY(require(statement, "!"));
  return evaluate(state, statement, std::nullopt, None::Hide);
}

Status arguments(PromptState& state, std::string_view) {
  const auto body = TRY(ask_in_frame<dap::FrameArguments>(state, {}));
  for (const dap::Variable& variable : body.variables) {
    say("{} = {}\n", printable(variable.name), foreign(variable.value));
  }
  return {};
}

// What an editor sees as a scope of its own.
Status returned(PromptState& state, std::string_view) {
  const auto body = TRY(ask_in_frame<dap::Scopes>(state, {}));
  for (const dap::Scope& scope : body.scopes) {
    if (scope.presentation_hint.value_or("") == "returnValue") {
      dap::Variables::Arguments wanted;
      wanted.variables_reference = scope.variables_reference;
      const auto values =
          TRY(state.session.call<dap::Variables>(wanted, state.deadline()));
      for (const dap::Variable& variable : values.variables) {
        say("{}\n", foreign(variable.value));
      }
      return {};
    }
  }
  return fail(ErrorId::NoSuchFrame,
              "no function has just returned in this thread", "r");
}

Status whatis(PromptState& state, std::string_view expression) {
  TRY(require(expression, "whatis"));
  TRY(state.session.need("objects", state.deadline()));
  const auto body = TRY(ask_in_frame<dap::Whatis>(
      state, {.expression = std::string(expression)}));
  say("{}\n", printable(body.text));
  return {};
}

// As IPython's `x?`: what it is, its value and what its author says of it.
Status describe(PromptState& state, std::string_view expression) {
  TRY(whatis(state, expression));
  const auto body = TRY(ask_in_frame<dap::Evaluate>(
      state, {.expression = std::string(expression), .repr_limit = 500}));
  say("{}\n", foreign(body.result));
  return evaluate(
      state, fmt::format("print(({}).__doc__ or '(no docstring)')", expression),
      std::nullopt, None::Hide);
}

}  // namespace

std::span<const Command> value_commands() {
  static const std::array<Command, 8> commands = {
      Command{{"p"},
              "expression",
              "Print the value of an expression, evaluated in this frame.",
              print,
              Word::CommandOnExpression},
      Command{{"pp"},
              "expression",
              "Pretty-print the value of an expression.",
              print_pretty,
              Word::CommandOnExpression},
      Command{
          {"peek"},
          "expression",
          "Read a variable without running code; works while the GIL is held.",
          peek_there,
          Word::CommandOnExpression},
      Command{{"a", "args"},
              "",
              "Print the arguments of this function.",
              arguments},
      Command{{"retval", "rv"},
              "",
              "Print the return value of the function that just returned.",
              returned},
      Command{{"whatis"},
              "expression",
              "Print the type of a value.",
              whatis,
              Word::CommandOnExpression},
      Command{{"describe"},
              "expression",
              "Print type, value and docstring, as x? does; x?? is `source x`.",
              describe,
              Word::CommandOnExpression},
      Command{{"!"},
              "statement",
              "Run Python in this frame, even if a command has that name.",
              run_python},
  };
  return commands;
}

}  // namespace hangdbg
