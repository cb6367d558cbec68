// What: p, pp, a, whatis, ! and plain Python.
#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "protocol/requests/evaluate.h"
#include "protocol/requests/frame_arguments.h"
#include "protocol/requests/whatis.h"

namespace hangdbg {
namespace {

enum class None { Show, Hide };

Status evaluate(PromptState& state,
                std::string_view expression,
                std::optional<std::int64_t> pretty_columns,
                None none) {
  const auto body = TRY(
      ask_in_frame<dap::Evaluate>(state, {.expression = std::string(expression),
                                          .context = "repl",
                                          .pretty = pretty_columns}));
  const auto detail = body.hangdbg.value_or(dap::EvaluateDetail{});
  if (!detail.none || (none == None::Show && !detail.statement)) {
    print_foreign(stdout, body.result + "\n");
  }
  if (detail.truncated > 0) {
    fmt::print("{}\n", state.out.dim(fmt::format("... {} characters more",
                                                 detail.truncated)));
  }
  return {};
}

Status require(std::string_view expression, const char* command) {
  if (expression.empty()) {
    return fail(ErrorId::Usage, fmt::format("{} wants an expression", command),
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

Status run_python(PromptState& state, std::string_view statement) {
  TRY(require(statement, "!"));
  return evaluate(state, statement, std::nullopt, None::Hide);
}

Status arguments(PromptState& state, std::string_view) {
  const auto body = TRY(ask_in_frame<dap::FrameArguments>(state, {}));
  for (const dap::Variable& variable : body.variables) {
    fmt::print("{} = {}\n", printable(variable.name),
               state.out.foreign(variable.value));
  }
  return {};
}

Status whatis(PromptState& state, std::string_view expression) {
  TRY(require(expression, "whatis"));
  TRY(state.session.need("objects", state.deadline()));
  const auto body = TRY(ask_in_frame<dap::Whatis>(
      state, {.expression = std::string(expression)}));
  fmt::print("{}\n", printable(body.text));
  return {};
}

}  // namespace

std::span<const Command> value_commands() {
  static const std::array<Command, 5> commands = {
      Command{{"p"},
              "expression",
              "The value of the expression, evaluated in this frame.",
              print,
              Word::CommandOnExpression},
      Command{{"pp"},
              "expression",
              "The value, its containers broken into lines.",
              print_pretty,
              Word::CommandOnExpression},
      Command{{"a", "args"},
              "",
              "What this frame's function was called with.",
              arguments},
      Command{{"whatis"},
              "expression",
              "The type of the value.",
              whatis,
              Word::CommandOnExpression},
      Command{{"!"},
              "statement",
              "Runs Python in this frame, also where a command has that name.",
              run_python},
  };
  return commands;
}

}  // namespace hangdbg
