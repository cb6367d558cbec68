#include "client/prompt/display.h"

#include <fmt/core.h>

#include <array>

#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "protocol/requests/evaluate.h"

namespace hangdbg {
namespace {

std::string function_of(const PromptState& state) {
  const dap::StackFrame& frame = state.place.frame();
  const auto path = frame.source ? frame.source->path.value_or("") : "";
  return fmt::format("{}:{}", path, frame.name);
}

// What cannot be evaluated is shown as pdb shows it.
std::string value_of(PromptState& state, const std::string& expression) {
  const auto body =
      ask_in_frame<dap::Evaluate>(state, {.expression = expression});
  return body ? body->result
              : fmt::format("** raised {} **", body.error().message);
}

Status show_all(PromptState& state) {
  if (state.displays.empty()) {
    say("No expression is being displayed\n");
    return {};
  }
  say("Currently displaying:\n");
  for (Display& one : state.displays) {
    if (one.function == function_of(state)) {
      say("{}: {}\n", one.expression, foreign(one.shown));
    }
  }
  return {};
}

Status display(PromptState& state, std::string_view expression) {
  if (expression.empty()) {
    return show_all(state);
  }
  Display one{function_of(state), std::string(expression), {}};
  one.shown = value_of(state, one.expression);
  if (one.shown.starts_with("** raised SyntaxError")) {
    return fail(ErrorId::ExpressionFailed,
                fmt::format("Unable to display {}: it is no Python",
                            printable(expression)));
  }
  say("display {}: {}\n", one.expression, foreign(one.shown));
  std::erase_if(state.displays, [&](const Display& other) {
    return other.function == one.function && other.expression == one.expression;
  });
  state.displays.push_back(std::move(one));
  return {};
}

Status undisplay(PromptState& state, std::string_view expression) {
  const auto gone = std::erase_if(state.displays, [&](const Display& one) {
    return one.function == function_of(state) &&
           (expression.empty() || one.expression == expression);
  });
  return gone == 0 && !expression.empty()
             ? fail(ErrorId::Usage,
                    fmt::format("not displaying {}", expression), "display")
             : Status();
}

}  // namespace

Status show_displays(PromptState& state) {
  for (Display& one : state.displays) {
    if (one.function != function_of(state)) {
      continue;
    }
    std::string now = value_of(state, one.expression);
    if (now != one.shown) {
      say("display {}: {}  [old: {}]\n", one.expression, foreign(now),
          foreign(one.shown));
      one.shown = std::move(now);
    }
  }
  return {};
}

std::span<const Command> display_commands() {
  static const std::array<Command, 2> commands = {
      Command{{"display"},
              "[expression]",
              "Show the value of an expression at each stop in this function, "
              "if it changed.",
              display},
      Command{{"undisplay"},
              "[expression]",
              "Stop displaying an expression; without arguments all of this "
              "function.",
              undisplay},
  };
  return commands;
}

}  // namespace hangdbg
