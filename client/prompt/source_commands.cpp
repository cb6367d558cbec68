// The source: l, ll, source.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "client/terminal/python_colours.h"
#include "protocol/requests/object_source.h"
#include "protocol/requests/scopes.h"
#include "protocol/requests/whatis.h"

namespace hangdbg {
namespace {

constexpr std::int64_t kPage = 11;  // lines, as pdb's

struct Range {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

Result<Range> parse_range(std::string_view argument);
Result<std::string> class_name(PromptState& state, std::string_view expression);
std::int64_t class_line(const std::vector<std::string>& lines,
                        std::int64_t method_line,
                        std::string_view name);

std::string path_here(const PromptState& state) {
  const auto& source = state.place.frame().source;
  return source ? source->path.value_or("") : "";
}

bool has_breakpoint(PromptState& state,
                    const std::string& path,
                    std::int64_t line) {
  return std::ranges::any_of(
      state.breakpoints.all(), [&](const PromptBreakpoint& one) {
        return one.function.empty() && one.line == line &&
               (one.file.empty() ? one.path : one.file) == path;
      });
}

// Lines as pdb prints them: B where there is a breakpoint, -> at `current`.
Status show_lines(PromptState& state,
                  const std::string& path,
                  Range range,
                  std::int64_t current) {
  const auto& lines = state.sources.lines(path);
  if (lines.empty()) {
    return fail(ErrorId::Unreadable,
                fmt::format("cannot read the source of {}", path));
  }
  range.first = std::max<std::int64_t>(range.first, 1);
  range.last = std::min(range.last, std::ssize(lines));
  PythonColours colours;
  for (auto number = range.first; number <= range.last; ++number) {
    const std::string& line = lines[static_cast<std::size_t>(number - 1)];
    const bool here = number == current;
    say("{:<4}{}{}\t{}\n", fmt::format("{:>3}", number),
        has_breakpoint(state, path, number) ? "B" : " ",
        here ? state.out.green("->") : "",
        state.out.has_colours() ? colours.line(line) : line);
  }
  if (range.last >= std::ssize(lines)) {
    say("[EOF]\n");
  }
  return {};
}

// Without an argument: around the frame's line, then on from there.
Status list_source(PromptState& state, std::string_view argument) {
  Range range;
  if (argument.empty() && state.list_from) {
    range = {*state.list_from, *state.list_from + kPage - 1};
  } else if (argument.empty() || argument == ".") {
    TRY(follow(state));
    const auto first =
        std::max<std::int64_t>(state.place.frame().line - kPage / 2, 1);
    range = {first, first + kPage - 1};
  } else {
    range = TRY(parse_range(argument));
  }
  TRY(show_lines(state, path_here(state), range, state.place.frame().line));
  state.list_from = range.last + 1;
  return {};
}

Status list_function(PromptState& state, std::string_view) {
  TRY(follow(state));
  const auto body = TRY(ask_in_frame<dap::Scopes>(state, {}));
  if (body.scopes.empty() || !body.scopes.front().line) {
    return fail(ErrorId::Unreadable, "unknown lines of this function");
  }
  const dap::Scope& locals = body.scopes.front();
  const bool whole_file = state.place.frame().name == "<module>";
  const std::int64_t last =
      whole_file ? std::ssize(state.sources.lines(path_here(state)))
                 : locals.end_line.value_or(*locals.line);
  return show_lines(state, path_here(state), {*locals.line, last},
                    state.place.frame().line);
}

Status source(PromptState& state, std::string_view expression) {
  if (expression.empty()) {
    return fail(ErrorId::Usage, "source needs an expression", "help source");
  }
  TRY(state.session.need("objects", state.deadline()));
  const auto body = TRY(ask_in_frame<dap::ObjectSource>(
      state, {.expression = std::string(expression)}));
  const auto first = class_line(state.sources.lines(body.path),
                                std::max<std::int64_t>(body.line, 1),
                                TRY(class_name(state, expression)));
  say("{}\n", state.out.dim(fmt::format("{}:{}", printable(body.path), first)));
  const auto last = body.end_line > 0 ? body.end_line : first + kPage - 1;
  const auto& frame = state.place.frame();
  return show_lines(state, body.path, {first, last},
                    body.path == path_here(state) ? frame.line : 0);
}

// Of the expression's class, if it is a class or an instance; else empty.
Result<std::string> class_name(PromptState& state,
                               std::string_view expression) {
  const auto body = TRY(ask_in_frame<dap::Whatis>(
      state, {.expression = std::string(expression)}));
  std::string_view text = body.text;  // "Class a.B" or "<class 'a.B'>"
  if (!text.starts_with("Class ") && !text.starts_with("<class '")) {
    return std::string();
  }
  text = text.substr(0, text.find_last_not_of("'>") + 1);
  return std::string(text.substr(text.find_last_of(". '") + 1));
}

// Before 3.13 a class does not know its first line, only that of its first
// method: the "class" line above it, or `method_line` if there is none.
std::int64_t class_line(const std::vector<std::string>& lines,
                        std::int64_t method_line,
                        std::string_view name) {
  const std::string start = fmt::format("class {}", name);
  for (auto number = std::min(method_line, std::ssize(lines));
       !name.empty() && number >= 1; --number) {
    const auto line = trim(lines[static_cast<std::size_t>(number - 1)]);
    if (line.starts_with(start) &&
        line.substr(start.size()).find_first_of("(: [") == 0) {
      return number;
    }
  }
  return method_line;
}

// "first", "first, last", or "first, count" where count is less than first.
Result<Range> parse_range(std::string_view argument) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : split(argument, ',')) {
    const auto number = parse_number<std::int32_t>(trim(word));
    if (!number || numbers.size() == 2) {
      return fail(ErrorId::Usage,
                  fmt::format("not line numbers: {}", printable(argument)),
                  "l 10  or  l 10, 20  or  l .");
    }
    numbers.push_back(*number);
  }
  const std::int64_t first = numbers[0];
  if (numbers.size() == 1) {
    const auto from = std::max<std::int64_t>(first - kPage / 2, 1);
    return Range{from, from + kPage - 1};
  }
  return Range{first, numbers[1] < first ? first + numbers[1] : numbers[1]};
}

}  // namespace

std::span<const Command> source_commands() {
  static const std::array<Command, 3> commands = {
      Command{{"l", "list"},
              "[first[, last] | .]",
              "Show source around the current line (->), then further; . "
              "returns to it. B: a breakpoint.",
              list_source,
              Word::Command,
              true},
      Command{{"ll", "longlist"},
              "",
              "Show the source of the whole function.",
              list_function},
      Command{{"source"},
              "expression",
              "Show the source of a function, method, class or module.",
              source,
              Word::CommandOnExpression},
  };
  return commands;
}

}  // namespace hangdbg
