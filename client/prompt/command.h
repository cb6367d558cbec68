// What a command of the prompt is, and the tables of them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/session/pdb_line.h"

namespace hangdbg {

struct PromptState;

struct Command {
  std::vector<std::string_view> names;  // the abbreviation first, as pdb's help
  std::string_view arguments;           // "[first[, last]]"
  std::string_view help;
  // The argument is what follows the name, trimmed. An error is shown
  // as pdb shows one ("*** ...").
  Status (*run)(PromptState&, std::string_view argument);
  Word word = Word::Command;
  bool repeats = false;  // an empty line does it again
};

// One table a file.
std::span<const Command> stack_commands();
std::span<const Command> value_commands();
std::span<const Command> source_commands();
std::span<const Command> hold_commands();
std::span<const Command> breakpoint_commands();
std::span<const Command> catch_commands();
std::span<const Command> saved_commands();
std::span<const Command> reload_commands();
std::span<const Command> display_commands();
std::span<const Command> alias_commands();
std::span<const Command> rank_commands();
std::span<const Command> session_commands();

// In the order in which help lists them.
std::vector<const Command*> all_commands();

// By any of its names; nullptr if there is none.
const Command* find_command(std::string_view name);

// A command of pdb, or one that cli.md promises, that this version lacks.
bool is_promised(std::string_view name);

Word word_kind(std::string_view name);

}  // namespace hangdbg
