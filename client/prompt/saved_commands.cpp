// save, load: breakpoints in a file, as the commands that set them.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"

namespace hangdbg {
namespace {

// After it, `commands` takes no more.
bool ends_commands(std::string_view line) {
  return line == "c" || line == "continue" || line == "q";
}

std::string lines_of_breakpoint(const PromptBreakpoint& one) {
  std::string text = one.enabled ? "" : "# disabled: ";
  if (!one.exception.empty()) {
    text += fmt::format(
        "catch{}{}", one.uncaught ? " uncaught" : "",
        one.uncaught && one.classes.empty() ? "" : " " + one.exception);
  } else {
    text += fmt::format("{} {}{}", one.temporary ? "tbreak" : "b", one.place(),
                        one.condition.empty() ? "" : ", " + one.condition);
  }
  text += '\n';
  if (one.enabled && (one.silent || !one.commands.empty())) {
    text += one.silent ? "commands\nsilent\n" : "commands\n";
    for (const std::string& line : one.commands) {
      text += line + '\n';
    }
    if (one.commands.empty() || !ends_commands(one.commands.back())) {
      text += "end\n";
    }
  }
  return text;
}

Status save(PromptState& state, std::string_view path) {
  if (path.empty()) {
    return fail(ErrorId::Usage, "save needs a file", "save train.breaks");
  }
  const auto& all = state.breakpoints.all();
  if (all.empty()) {
    return fail(ErrorId::Usage, "no breakpoints", "b");
  }
  std::ofstream file{std::string(path)};
  for (const PromptBreakpoint& one : all) {
    file << lines_of_breakpoint(one);
  }
  file.close();
  if (!file) {
    return fail(ErrorId::Unreadable,
                fmt::format("cannot write {}", printable(path)));
  }
  say("Saved {} breakpoint{} in {}\n", all.size(), all.size() == 1 ? "" : "s",
      printable(path));
  return {};
}

// Whatever commands it has.
Status load(PromptState& state, std::string_view path) {
  if (path.empty()) {
    return fail(ErrorId::Usage, "load needs a file", "load train.breaks");
  }
  std::ifstream file{std::string(path)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const auto text = trim(line);
    if (!text.empty() && !text.starts_with('#')) {
      lines.emplace_back(line);
    }
  }
  if (!file.eof()) {
    return fail(ErrorId::Unreadable,
                fmt::format("cannot read {}", printable(path)));
  }
  if (std::ranges::any_of(lines, [](std::string_view line) {
        return split_word(trim(line)).first == "load";
      })) {
    return fail(ErrorId::Usage,
                fmt::format("{} has a `load` in it", printable(path)));
  }
  const int code = run_commands(state, lines);
  return code == 0 ? Status()
                   : fail(ErrorId::Usage, fmt::format("not all of {} was done",
                                                      printable(path)));
}

}  // namespace

std::span<const Command> saved_commands() {
  static const std::array<Command, 2> table = {
      Command{{"save"},
              "file",
              "Write the breakpoints to a file, as the commands that set them.",
              save},
      Command{{"load"}, "file", "Run the commands in a file.", load},
  };
  return table;
}

}  // namespace hangdbg
