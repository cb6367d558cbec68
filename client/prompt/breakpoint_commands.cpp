// Breakpoints: b, tbreak, cl, disable, enable, ignore, condition, commands.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "client/prompt/breakpoint_place.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "client/prompt/stops.h"

namespace hangdbg {
namespace {

// ---- showing

void show(const PromptBreakpoint& one) {
  say("{:<4}{}   {} {}   at {}{}\n", one.number,
      one.exception.empty() ? "breakpoint" : "catchpoint",
      one.temporary ? "del " : "keep", one.enabled ? "yes" : "no ",
      printable(one.place()),
      one.enabled && !one.verified ? "  (" + printable(one.message) + ")" : "");
  if (!one.condition.empty()) {
    say("\tstop only if {}\n", printable(one.condition));
  }
  if (one.ignore > one.hits) {
    say("\tignore next {} hits\n", one.ignore - one.hits);
  }
  if (one.hits > 0) {
    say("\tbreakpoint already hit {} time{}\n", one.hits,
        one.hits == 1 ? "" : "s");
  }
}

Status list(PromptState& state) {
  if (state.breakpoints.all().empty()) {
    return {};
  }
  TRY(state.breakpoints.refresh(state.session, state.deadline()));
  say("Num Type         Disp Enb   Where\n");
  for (const PromptBreakpoint& one : state.breakpoints.all()) {
    show(one);
  }
  return {};
}

// ---- the commands

// Code that is not known by that path may be by the one that its links lead to.
Result<const PromptBreakpoint*> add_breakpoint(PromptState& state,
                                               PromptBreakpoint wanted) {
  const PromptBreakpoint* const made = TRY(state.breakpoints.add(
      state.session, std::move(wanted), state.deadline()));
  std::error_code error;
  const auto real = std::filesystem::canonical(made->path, error);
  if (made->verified || !made->function.empty() || error ||
      real == made->path) {
    return made;
  }
  return state.breakpoints.move(state.session, made->number, real,
                                state.deadline());
}

Status set(PromptState& state, std::string_view argument, bool temporary) {
  if (argument.empty()) {
    return list(state);
  }
  say_others_wait(state);
  auto wanted = TRY(parse_place(state, argument));
  wanted.temporary = temporary;
  const PromptBreakpoint* const made =
      TRY(add_breakpoint(state, std::move(wanted)));
  say("Breakpoint {} at {}{}\n", made->number, printable(made->place()),
      made->verified ? ""
                     : state.out.dim("  (" + printable(made->message) + ")"));
  return {};
}

Status set_breakpoint(PromptState& state, std::string_view argument) {
  return set(state, argument, false);
}

Status set_temporary(PromptState& state, std::string_view argument) {
  return set(state, argument, true);
}

Result<PromptBreakpoint*> numbered(PromptState& state, std::string_view word) {
  if (word.empty()) {
    return fail(ErrorId::Usage, "the number of a breakpoint is missing", "b");
  }
  const auto number = parse_number<int>(word);
  PromptBreakpoint* const found =
      number ? state.breakpoints.find(*number) : nullptr;
  if (found == nullptr) {
    return fail(ErrorId::Usage,
                fmt::format("no such breakpoint: {}", printable(word)), "b");
  }
  return found;
}

Result<std::vector<int>> numbers(PromptState& state,
                                 std::string_view argument) {
  std::vector<int> found;
  while (!argument.empty()) {
    const auto [word, rest] = split_word(argument);
    found.push_back(TRY(numbered(state, word))->number);
    argument = rest;
  }
  return found;
}

Status clear(PromptState& state, std::string_view argument) {
  std::vector<int> gone;
  if (argument.empty() || argument.find(':') != argument.npos) {
    const auto place = argument.empty() ? PromptBreakpoint()
                                        : TRY(parse_place(state, argument));
    for (const PromptBreakpoint& one : state.breakpoints.all()) {
      if (argument.empty() ||
          (one.line == place.line && one.path.ends_with(place.path))) {
        gone.push_back(one.number);
      }
    }
  } else {
    gone = TRY(numbers(state, argument));
  }
  if (gone.empty() && !argument.empty()) {
    return fail(ErrorId::Usage, fmt::format("no breakpoints at {}", argument),
                "b");
  }
  for (const int number : gone) {
    const std::string place = state.breakpoints.find(number)->place();
    TRY(state.breakpoints.remove(state.session, number, state.deadline()));
    say("Deleted breakpoint {} at {}\n", number, printable(place));
  }
  return {};
}

Status set_enabled(PromptState& state,
                   std::string_view argument,
                   bool enabled) {
  if (argument.empty()) {
    return fail(ErrorId::Usage, "the number of a breakpoint is missing", "b");
  }
  for (const int number : TRY(numbers(state, argument))) {
    PromptBreakpoint& one = *state.breakpoints.find(number);
    one.enabled = enabled;
    TRY(state.breakpoints.update(state.session, number, state.deadline()));
    say("{} breakpoint {} at {}\n", enabled ? "Enabled" : "Disabled", number,
        printable(one.place()));
  }
  return {};
}

Status disable(PromptState& state, std::string_view argument) {
  return set_enabled(state, argument, false);
}

Status enable(PromptState& state, std::string_view argument) {
  return set_enabled(state, argument, true);
}

// At an exception it stops each time, for whatever classes were named.
Result<PromptBreakpoint*> numbered_place(PromptState& state,
                                         std::string_view word) {
  PromptBreakpoint* const one = TRY(numbered(state, word));
  return one->exception.empty()
             ? Result<PromptBreakpoint*>(one)
             : fail(ErrorId::Usage,
                    fmt::format("breakpoint {} is at an exception: it has no "
                                "condition and no count",
                                one->number),
                    fmt::format("cl {};; catch OSError", one->number));
}

Status ignore(PromptState& state, std::string_view argument) {
  const auto [word, rest] = split_word(argument);
  PromptBreakpoint& one = *TRY(numbered_place(state, word));
  const auto count = rest.empty() ? std::optional<std::int64_t>(0)
                                  : parse_number<std::int64_t>(rest);
  if (!count || *count < 0) {
    return fail(ErrorId::Usage,
                fmt::format("not a number: {}", printable(rest)),
                "ignore number [count]");
  }
  TRY(state.breakpoints.refresh(state.session, state.deadline()));
  one.ignore = one.hits + *count;
  TRY(state.breakpoints.update(state.session, one.number, state.deadline()));
  say("{}\n", *count == 0
                  ? fmt::format("Will stop next time breakpoint {} is reached.",
                                one.number)
                  : fmt::format("Will ignore next {} crossing{} of "
                                "breakpoint {}.",
                                *count, *count == 1 ? "" : "s", one.number));
  return {};
}

Status condition(PromptState& state, std::string_view argument) {
  const auto [word, rest] = split_word(argument);
  PromptBreakpoint& one = *TRY(numbered_place(state, word));
  const std::string before = std::exchange(one.condition, std::string(rest));
  if (const Status sent =
          state.breakpoints.update(state.session, one.number, state.deadline());
      !sent) {
    one.condition = before;
    return sent;
  }
  say("{}\n",
      rest.empty()
          ? fmt::format("Breakpoint {} is now unconditional.", one.number)
          : fmt::format("New condition set for breakpoint {}.", one.number));
  return {};
}

// The next lines, up to `end`.
Status commands(PromptState& state, std::string_view argument) {
  if (argument.empty() && state.breakpoints.all().empty()) {
    return fail(ErrorId::Usage, "no breakpoints", "b");
  }
  PromptBreakpoint& one = argument.empty() ? state.breakpoints.all().back()
                                           : *TRY(numbered(state, argument));
  const int number = one.number;
  one.commands.clear();
  one.silent = false;
  state.reader_prompt = "(com) ";
  state.reader_takes_python = false;
  state.reader = [&state, number](std::string_view line) {
    PromptBreakpoint* const to = state.breakpoints.find(number);
    if (to == nullptr || line == "end") {
      return false;
    }
    if (line == "silent") {
      to->silent = true;
      return true;
    }
    to->commands.emplace_back(line);
    // Those after which nothing comes.
    return line != "c" && line != "continue" && line != "q";
  };
  return {};
}

}  // namespace

std::span<const Command> breakpoint_commands() {
  static const std::array<Command, 8> table = {
      Command{{"b", "break"},
              "[[file:]line | function [, condition]]",
              "Set a breakpoint, with an optional condition; without arguments "
              "list all.",
              set_breakpoint},
      Command{{"tbreak"},
              "[file:]line | function [, condition]",
              "Set a breakpoint that is deleted at its first hit.",
              set_temporary},
      Command{{"cl", "clear"},
              "[number... | file:line]",
              "Delete breakpoints; without arguments all.",
              clear},
      Command{{"disable"}, "number...", "Disable breakpoints.", disable},
      Command{{"enable"}, "number...", "Enable breakpoints.", enable},
      Command{
          {"ignore"}, "number [count]", "Ignore the next COUNT hits.", ignore},
      Command{{"condition"},
              "number [condition]",
              "Set or remove the condition of a breakpoint.",
              condition},
      Command{{"commands"},
              "[number]",
              "Run these commands at each stop: the next lines, up to end.",
              commands},
  };
  return table;
}

}  // namespace hangdbg
