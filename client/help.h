// What --help and `hangdbg help` print, made of the same declarations that
// parse a command line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/terminal/render.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
class Option;
}  // namespace CLI

namespace hangdbg {

// Of the program or of one command, wrapped by words to `columns`.
std::string help_text(const CLI::App& app,
                      std::size_t columns,
                      const Palette& out);

// A command's help, taken apart; the manual page is made of it, too.
struct CommandHelp {
  std::vector<std::string> usage;     // "hangdbg dump [OPTIONS] [PID...]"
  std::vector<std::string> examples;  // lines, without their indent
  std::vector<std::string> details;   // paragraphs
};

CommandHelp help_of(const CLI::App& app);

// By its name or an older one; nullptr where there is none.
const CLI::App* find_command(const CLI::App& app, const std::string& name);

// What `hangdbg help` calls the groups of commands, in its order.
std::vector<std::string> groups_of(const CLI::App& app);

// "--timeout SECONDS" is "SECONDS", without what CLI11 adds to it; empty for a
// flag.
std::string value_name(const CLI::Option& option);

// What it does, with its default.
std::string option_help(const CLI::Option& option);

// "PID", or "PLACE" of a positional that is declared as "place".
std::string positional_name(const CLI::Option& option);

}  // namespace hangdbg
