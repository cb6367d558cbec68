#include "client/prompt/breakpoint_place.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "protocol/requests/evaluate.h"

namespace hangdbg {
namespace {

constexpr auto kPlaceHint = "b [file:]line | function [, condition]";

// A string that Python has shown, if it is as simple as names are.
std::string unquoted(const std::string& shown) {
  return shown.size() >= 2 ? shown.substr(1, shown.size() - 2) : shown;
}

// "outer.<locals>.nested" is known as "outer.nested".
std::string without_locals(std::string_view name) {
  constexpr std::string_view kLocals = "<locals>.";
  std::string out(name);
  for (auto at = out.find(kLocals); at != out.npos; at = out.find(kLocals)) {
    out.erase(at, kLocals.size());
  }
  return out;
}

// A function that is there is found by its file; another may come.
Status set_function(PromptState& state,
                    std::string_view name,
                    PromptBreakpoint& wanted) {
  wanted.function = without_locals(name);
  const auto qualified =
      string_in_frame(state, fmt::format("({}).__qualname__", name));
  if (!qualified) {
    return is_dotted_name(wanted.function)
               ? Status()
               : fail(ErrorId::Usage,
                      fmt::format("not a line number or a function: {}",
                                  printable(name)),
                      kPlaceHint);
  }
  auto file =
      string_in_frame(state, fmt::format("({}).__code__.co_filename", name));
  if (const auto inner = string_in_frame(
          state, fmt::format("({}).__wrapped__.__code__.co_filename", name))) {
    file = inner;
  }
  if (!file) {
    return fail(ErrorId::Usage,
                fmt::format("{} is not a function written in Python", name),
                "whatis " + std::string(name));
  }
  wanted.function = *qualified;
  wanted.path = *file;
  return {};
}

// As pdb does, of a file that can be read.
Status check_line(PromptState& state, const PromptBreakpoint& wanted) {
  const auto& lines = state.sources.lines(wanted.path);
  if (lines.empty()) {
    return {};
  }
  if (wanted.line > std::ssize(lines)) {
    return fail(ErrorId::Usage,
                fmt::format("End of file: {} has {} lines",
                            printable(wanted.path), lines.size()));
  }
  const auto text = trim(lines[static_cast<std::size_t>(wanted.line - 1)]);
  return text.empty() || text.starts_with('#')
             ? fail(ErrorId::Usage, "Blank or comment")
             : Status();
}

}  // namespace

Result<std::string> path_of(PromptState& state, std::string_view name) {
  if (name.find_first_not_of("0123456789") == name.npos) {
    return fail(ErrorId::Usage, fmt::format("not a file: {}", printable(name)),
                kPlaceHint);
  }
  // "<string>", a template: code may have any name.
  const bool is_of_code = std::ranges::any_of(
      state.place.thread().stack.stack_frames, [&](const dap::StackFrame& one) {
        return one.source && one.source->path == name;
      });
  if (name.contains('/') || name.ends_with(".py") || !is_dotted_name(name) ||
      is_of_code) {
    return std::string(name);
  }
  const auto file = string_in_frame(
      state,
      fmt::format("__import__('sys').modules['{}'].__file__",
                  name.contains('\'') || name.contains('\\') ? "" : name));
  if (file && file->ends_with(".py")) {
    return *file;
  }
  std::string path(name);  // it may come
  std::ranges::replace(path, '.', '/');
  return path + ".py";
}

bool is_dotted_name(std::string_view name) {
  for (const std::string_view part : split(name, '.')) {
    if (part.empty() || std::isdigit(static_cast<unsigned char>(part[0])) ||
        !std::ranges::all_of(part, [](unsigned char c) {
          return std::isalnum(c) || c == '_' || c >= 0x80;
        })) {
      return false;
    }
  }
  return true;
}

Result<std::string> string_in_frame(PromptState& state,
                                    const std::string& expression) {
  return unquoted(
      TRY(ask_in_frame<dap::Evaluate>(state, {.expression = expression}))
          .result);
}

Result<PromptBreakpoint> parse_place(PromptState& state,
                                     std::string_view argument) {
  PromptBreakpoint wanted;
  const auto comma = argument.find(',');
  if (comma != argument.npos) {
    wanted.condition = trim(argument.substr(comma + 1));
  }
  const auto place = trim(argument.substr(0, comma));
  const auto colon = place.rfind(':');
  const auto number = place.substr(colon == place.npos ? 0 : colon + 1);
  const auto line = parse_number<std::int64_t>(number);
  if (!line && colon == place.npos) {
    TRY(set_function(state, place, wanted));
    return wanted;
  }
  if (!line || *line < 1 || colon == 0) {
    return fail(ErrorId::Usage,
                colon == 0
                    ? "a file is missing before the colon"
                    : fmt::format("not a line number: {}", printable(number)),
                kPlaceHint);
  }
  wanted.line = *line;
  const dap::StackFrame& frame = state.place.frame();
  wanted.path = colon != place.npos
                    ? TRY(path_of(state, place.substr(0, colon)))
                    : (frame.source ? frame.source->path.value_or("") : "");
  TRY(check_line(state, wanted));
  return wanted;
}

}  // namespace hangdbg
