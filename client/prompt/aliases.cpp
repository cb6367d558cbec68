// alias, unalias: commands of the user's own; interact: Python and nothing
// else.
#include "client/prompt/aliases.h"

#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"

namespace hangdbg {
namespace {

constexpr int kMostExpansions = 20;  // an alias may begin with its own name

// %1 to %9, and %* for all of them.
std::string fill_in(const std::string& alias, std::string_view arguments) {
  std::vector<std::string> words;
  for (auto rest = trim(arguments); !rest.empty();) {
    const auto [word, behind] = split_word(rest);
    words.emplace_back(word);
    rest = behind;
  }
  std::string text;
  bool used = false;
  for (std::size_t i = 0; i < alias.size(); ++i) {
    const char next = i + 1 < alias.size() ? alias[i + 1] : ' ';
    if (alias[i] != '%' || (next != '*' && (next < '1' || next > '9'))) {
      text += alias[i];
      continue;
    }
    const auto index = static_cast<std::size_t>(next - '1');
    used = true;
    text += next == '*'            ? std::string(arguments)
            : index < words.size() ? words[index]
                                   : "";
    ++i;
  }
  return used || arguments.empty() ? text
                                   : fmt::format("{} {}", text, arguments);
}

Status alias(PromptState& state, std::string_view argument) {
  const auto [name, text] = split_word(argument);
  if (!text.empty()) {
    state.aliases[std::string(name)] = text;
    return {};
  }
  if (!name.empty() && !state.aliases.contains(std::string(name))) {
    return fail(ErrorId::Usage, fmt::format("no such alias: {}", name),
                "alias");
  }
  for (const auto& [known, command] : state.aliases) {
    if (name.empty() || name == known) {
      say("{} = {}\n", known, command);
    }
  }
  return {};
}

Status unalias(PromptState& state, std::string_view name) {
  if (name.empty()) {
    return fail(ErrorId::Usage, "the name of an alias is missing", "alias");
  }
  if (state.aliases.erase(std::string(name)) == 0) {
    return fail(ErrorId::Usage, fmt::format("no such alias: {}", name),
                "alias");
  }
  return {};
}

// What is bound stays in the frame.
Status interact(PromptState& state, std::string_view) {
  say("{}\n", state.out.dim("Python in this frame; exit() or Ctrl-D returns"));
  state.reader_prompt = ">>> ";
  state.reader_takes_python = true;
  state.reader = [&state](std::string_view statement) {
    if (statement == "exit()" || statement == "quit()") {
      return false;
    }
    if (!trim(statement).empty()) {
      run_python_line(state, std::string(statement));
    }
    return !state.leaving;
  };
  return {};
}

}  // namespace

std::string expand_alias(const PromptState& state, std::string line) {
  for (int i = 0; i < kMostExpansions; ++i) {
    const auto [name, arguments] = split_word(line);
    const auto found = state.aliases.find(std::string(name));
    if (found == state.aliases.end()) {
      break;
    }
    line = fill_in(found->second, arguments);
  }
  return line;
}

std::span<const Command> alias_commands() {
  static const std::array<Command, 3> commands = {
      Command{{"alias"},
              "[name [command]]",
              "Define a command; %1 to %9 and %* are its arguments.",
              alias},
      Command{{"unalias"}, "name", "Delete an alias.", unalias},
      Command{{"interact"},
              "",
              "Start a Python prompt in this frame; every line is Python.",
              interact},
  };
  return commands;
}

}  // namespace hangdbg
