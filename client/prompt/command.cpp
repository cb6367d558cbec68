#include "client/prompt/command.h"

#include <algorithm>
#include <array>

namespace hangdbg {
namespace {

constexpr auto kPromised = std::to_array<std::string_view>({"restart", "run"});

}  // namespace

std::vector<const Command*> all_commands() {
  std::vector<const Command*> all;
  for (const auto table :
       {stack_commands(), value_commands(), source_commands(), hold_commands(),
        breakpoint_commands(), catch_commands(), saved_commands(),
        reload_commands(), display_commands(), alias_commands(),
        rank_commands(), session_commands()}) {
    for (const Command& command : table) {
      all.push_back(&command);
    }
  }
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command* const command : all_commands()) {
    if (std::ranges::find(command->names, name) != command->names.end()) {
      return command;
    }
  }
  return nullptr;
}

bool is_promised(std::string_view name) {
  return std::ranges::find(kPromised, name) != kPromised.end();
}

Word word_kind(std::string_view name) {
  const Command* const command = find_command(name);
  if (command != nullptr) {
    return command->word;
  }
  return is_promised(name) ? Word::Command : Word::Python;
}

}  // namespace hangdbg
