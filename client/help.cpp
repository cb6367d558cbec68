#include "client/help.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "client/terminal/wrap.h"

namespace hangdbg {
namespace {

constexpr std::size_t kLeast = 40;       // columns, however narrow it is
constexpr std::size_t kNameColumn = 26;  // longer names: a line of their own

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string program_help(const CLI::App& app,
                         std::size_t columns,
                         const Palette& out);
std::string command_help(const CLI::App& command,
                         std::size_t columns,
                         const Palette& out);
std::string usage_of(const CLI::App& command);
std::string section(std::string_view title,
                    const Rows& rows,
                    std::size_t columns,
                    const Palette& out);
std::string lines_section(std::string_view title,
                          const std::vector<std::string>& lines,
                          const Palette& out);
Rows commands_in(const CLI::App& app, const std::string& group);
Rows options_in(const CLI::App& command, const std::string& group);
Rows positionals_of(const CLI::App& command);

}  // namespace

std::string help_text(const CLI::App& app,
                      std::size_t columns,
                      const Palette& out) {
  columns = std::max(columns, kLeast);
  return app.get_parent() == nullptr ? program_help(app, columns, out)
                                     : command_help(app, columns, out);
}

CommandHelp help_of(const CLI::App& app) {
  CommandHelp help;
  const std::string footer = app.get_footer();
  std::vector<std::string>* lines = nullptr;  // of the block we are in
  for (const std::string_view line : split(footer, '\n')) {
    if (line.empty()) {
      lines = nullptr;
    } else if (line == "Usage:") {
      lines = &help.usage;
    } else if (line == "Examples:") {
      lines = &help.examples;
    } else if (lines != nullptr) {
      lines->emplace_back(line.substr(line.starts_with("  ") ? 2 : 0));
    } else {
      help.details.emplace_back(line);
    }
  }
  if (help.usage.empty()) {
    help.usage.push_back(usage_of(app));
  }
  return help;
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto all = app.get_subcommands({});
  const auto found = std::ranges::find_if(
      all, [&](const CLI::App* one) { return one->check_name(name); });
  return found == all.end() ? nullptr : *found;
}

// In the order in which they are declared.
std::vector<std::string> groups_of(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string& group = command->get_group();
    if (!group.empty() && std::ranges::find(groups, group) == groups.end()) {
      groups.push_back(group);
    }
  }
  return groups;
}

std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) {
    return {};
  }
  // "SECONDS:FLOAT in [1 - 9]"; "AREA:LEVEL,..." is a name of ours.
  const std::string type = option.get_type_name();
  return type.starts_with("AREA") ? type : type.substr(0, type.find(':'));
}

std::string option_help(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) {
    text += fmt::format(" (default {})", option.get_default_str());
  }
  if (option.get_required() && !option.get_positional()) {
    text += " (required)";
  }
  return text;
}

std::string positional_name(const CLI::Option& option) {
  std::string name = option.get_single_name();
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  return name;
}

namespace {

std::string program_help(const CLI::App& app,
                         std::size_t columns,
                         const Palette& out) {
  const CommandHelp help = help_of(app);
  std::string text = wrap_words(app.get_description(), columns, 0) + "\n\n" +
                     out.bold("Usage:") + " " + help.usage.front() + "\n";
  text += lines_section("Examples", help.examples, out);
  for (const std::string& group : groups_of(app)) {
    text += section(group, commands_in(app, group), columns, out);
  }
  text += section("Options", options_in(app, "Options"), columns, out);
  for (const std::string& paragraph : help.details) {
    text += "\n" + wrap_words(paragraph, columns, 0) + "\n";
  }
  return text;
}

std::string command_help(const CLI::App& command,
                         std::size_t columns,
                         const Palette& out) {
  const CommandHelp help = help_of(command);
  std::string text =
      wrap_words(command.get_description() + ".", columns, 0) + "\n\n";
  for (const std::string& line : help.usage) {
    text += (&line == &help.usage.front() ? out.bold("Usage:") : "      ") +
            " " + line + "\n";
  }
  text += lines_section("Examples", help.examples, out);
  for (const std::string& paragraph : help.details) {
    text += "\n" + wrap_words(paragraph, columns, 0) + "\n";
  }
  text += section("Arguments", positionals_of(command), columns, out);
  for (const char* const group : {"Options", "Common options"}) {
    text += section(group, options_in(command, group), columns, out);
  }
  return text;
}

std::string usage_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) {
    return "hangdbg [COMMAND] [OPTIONS] [ARGUMENTS]";
  }
  std::string usage = "hangdbg " + command.get_name() + " [OPTIONS]";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || option->get_group().empty()) {
      continue;
    }
    const std::string one = positional_name(*option) +
                            (option->get_items_expected_max() > 1 ? "..." : "");
    usage += option->get_required() ? " " + one : " [" + one + "]";
  }
  return usage;
}

// Names in one column, what they do in the next; none of it where there is no
// row.
std::string section(std::string_view title,
                    const Rows& rows,
                    std::size_t columns,
                    const Palette& out) {
  if (rows.empty()) {
    return {};
  }
  const std::size_t most = std::min(kNameColumn, columns * 2 / 5);
  std::size_t width = 10;  // as wide as the longest command
  for (const auto& [name, what] : rows) {
    width = name.size() <= most ? std::max(width, name.size()) : width;
  }
  const std::size_t indent = width + 4;
  std::string text = "\n" + out.bold(std::string(title) + ":") + "\n";
  for (const auto& [name, what] : rows) {
    const std::string wrapped = wrap_words(what, columns, indent);
    text += "  " + name;
    if (wrapped.empty()) {
      text += "\n";
    } else if (name.size() > width) {
      text += "\n" + wrapped + "\n";
    } else {
      text += wrapped.substr(name.size() + 2) + "\n";
    }
  }
  return text;
}

std::string lines_section(std::string_view title,
                          const std::vector<std::string>& lines,
                          const Palette& out) {
  if (lines.empty()) {
    return {};
  }
  std::string text = "\n" + out.bold(std::string(title) + ":") + "\n";
  for (const std::string& line : lines) {
    text += "  " + line + "\n";
  }
  return text;
}

Rows commands_in(const CLI::App& app, const std::string& group) {
  Rows rows;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group() == group) {
      rows.emplace_back(command->get_name(), command->get_description());
    }
  }
  return rows;
}

Rows options_in(const CLI::App& command, const std::string& group) {
  Rows rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || option->get_group() != group) {
      continue;
    }
    std::string names;
    for (const std::string& name : option->get_snames()) {
      names += (names.empty() ? "-" : ", -") + name;
    }
    for (const std::string& name : option->get_lnames()) {
      names += (names.empty() ? "--" : ", --") + name;
    }
    const std::string value = value_name(*option);
    rows.emplace_back(names + (value.empty() ? "" : " " + value),
                      option_help(*option));
  }
  return rows;
}

Rows positionals_of(const CLI::App& command) {
  Rows rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() && !option->get_group().empty()) {
      rows.emplace_back(positional_name(*option), option_help(*option));
    }
  }
  return rows;
}

}  // namespace
}  // namespace hangdbg
