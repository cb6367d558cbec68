// The session itself: help, q.
#include <fmt/core.h>

#include <array>

#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"

namespace hangdbg {
namespace {

std::string usage(const Command& command) {
  std::string names;
  for (const std::string_view name : command.names) {
    names += names.empty() ? name : fmt::format(" | {}", name);
  }
  return command.arguments.empty()
             ? names
             : names + fmt::format(" {}", command.arguments);
}

Status help(PromptState& state, std::string_view topic) {
  if (topic.empty()) {
    for (const Command* const command : all_commands()) {
      say("{:<28} {}\n", usage(*command), command->help);
    }
    say("Anything else is Python, and runs in this frame. ;; separates "
        "commands; Ctrl-C\n"
        "interrupts, Ctrl-D detaches. The program keeps running.\n");
    return {};
  }
  const Command* const command = find_command(topic);
  if (command != nullptr) {
    say("{}\n    {}\n", state.out.bold(usage(*command)), command->help);
    return {};
  }
  return fail(ErrorId::Usage,
              is_promised(topic)
                  ? fmt::format("{}: not supported in this version", topic)
                  : fmt::format("unknown command: {}", printable(topic)),
              "help");
}

Status quit(PromptState& state, std::string_view) {
  state.leaving = true;
  return {};
}

}  // namespace

std::span<const Command> session_commands() {
  static const std::array<Command, 2> commands = {
      Command{{"h", "help"},
              "[command]",
              "Show help for a command, or list all.",
              help},
      Command{{"q", "quit", "exit", "detach"},
              "",
              "Detach; the program continues.",
              quit},
  };
  return commands;
}

}  // namespace hangdbg
