// catch: stop where an exception of a class is raised, or is caught by nobody.
#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "client/prompt/breakpoint_place.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "client/prompt/stops.h"

namespace hangdbg {
namespace {

constexpr auto kCatchHint = "catch ValueError";
constexpr auto kUncaught = "uncaught";
constexpr auto kNoClass = "?";

// The names of the class, or of each of a tuple, with their modules. None: such
// a class is not known in this frame; its module may come later.
Result<std::vector<std::string>> classes_of(PromptState& state,
                                            std::string_view text) {
  const auto names = string_in_frame(
      state,
      fmt::format(
          "' '.join(['%s.%s' % (one.__module__, one.__qualname__) if "
          "isinstance(one, type) and issubclass(one, BaseException) else '{}' "
          "for one in (lambda x: x if isinstance(x, tuple) else (x,))(({}))])",
          kNoClass, text));
  if (!names) {
    return names.error().id == ErrorId::ExpressionFailed && is_dotted_name(text)
               ? Result<std::vector<std::string>>()
               : std::unexpected(names.error());
  }
  std::vector<std::string> found;
  for (const std::string_view name : split(std::string_view(*names), ' ')) {
    if (name.empty() || name == kNoClass) {
      return fail(ErrorId::Usage,
                  fmt::format("not a class of exceptions: {}", printable(text)),
                  kCatchHint);
    }
    found.emplace_back(name);
  }
  return found;
}

Status catch_exception(PromptState& state, std::string_view argument) {
  PromptBreakpoint wanted;
  if (const auto [word, rest] = split_word(argument); word == kUncaught) {
    wanted.uncaught = true;
    argument = rest;
  }
  if (argument.empty() && !wanted.uncaught) {
    return fail(ErrorId::Usage, "catch needs a class of exceptions",
                kCatchHint);
  }
  say_others_wait(state);
  wanted.exception = argument.empty() ? "of any class" : argument;
  std::string note;
  if (!argument.empty()) {
    wanted.classes = TRY(classes_of(state, argument));
    if (wanted.classes.empty()) {
      wanted.classes = {std::string(argument)};
      note = "no class is known here by that name";
    }
  }
  const PromptBreakpoint* const made = TRY(state.breakpoints.add(
      state.session, std::move(wanted), state.deadline()));
  note = note.empty() ? made->message : note;
  say("Breakpoint {} at {}{}\n", made->number, printable(made->place()),
      note.empty() ? "" : state.out.dim("  (" + printable(note) + ")"));
  return {};
}

}  // namespace

std::span<const Command> catch_commands() {
  static const std::array<Command, 1> table = {
      Command{{"catch"},
              "[uncaught] [exception]",
              "Stop where an exception of a class is raised, in whatever "
              "thread; uncaught: where nobody catches it.",
              catch_exception},
  };
  return table;
}

}  // namespace hangdbg
