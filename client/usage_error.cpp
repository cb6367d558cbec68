#include "client/usage_error.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "client/help.h"
#include "client/options/closest.h"
#include "client/terminal/typed.h"

namespace hangdbg {
namespace {

// What other tools call it.
struct OtherWord {
  std::string_view typed;
  std::string_view ours;
};
constexpr auto kOtherWords = std::to_array<OtherWord>({
    {"bt", "dump"},           {"py-bt", "dump"},  {"backtrace", "dump"},
    {"stack", "dump"},        {"stacks", "dump"}, {"where", "dump"},
    {"remote", "dump"},       {"list", "ps"},     {"ls", "ps"},
    {"strace", "trace"},      {"lsof", "fds"},    {"ss", "net"},
    {"netstat", "net"},       {"pstree", "tree"}, {"profile", "record"},
    {"flamegraph", "record"}, {"gdb", "attach"},  {"pdb", "attach"},
    {"prompt", "attach"},     {"print", "eval"},  {"why", "diagnose"},
});

Error unexpected(const CLI::App& app,
                 const CLI::App& command,
                 const std::string& word);
Error unknown_option(const CLI::App& app,
                     const CLI::App& command,
                     const std::string& word);
std::string message_of(const CLI::App& command, const CLI::ParseError& error);
std::optional<std::string> first_missing(const CLI::App& command);
std::optional<std::string> first_left_over(const CLI::App& command);
std::vector<std::string> long_names(const CLI::App& command);
std::string name_of(const CLI::App& command);

}  // namespace

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto named = app.get_subcommands();
  const CLI::App& command = named.empty() ? app : *named.front();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (const auto word = first_left_over(app)) {
      return unexpected(app, app, *word);
    }
    if (const auto word = first_left_over(command)) {
      return unexpected(app, command, *word);
    }
  }
  return {.id = ErrorId::Usage,
          .message = printable(message_of(command, error)),
          .hint = name_of(command) + " --help"};
}

Error unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      names.push_back(command->get_name());
    }
  }
  const auto known = std::ranges::find(kOtherWords, word, &OtherWord::typed);
  const auto meant = known != kOtherWords.end()
                         ? std::optional(std::string(known->ours))
                         : closest(word, names);
  return {.id = ErrorId::Usage,
          .message = fmt::format("unknown command: {}", printable(word)),
          .hint = meant ? typed_but(word, *meant) : "hangdbg help"};
}

namespace {

// A word that no declaration has taken, before or behind the command's name.
Error unexpected(const CLI::App& app,
                 const CLI::App& command,
                 const std::string& word) {
  if (word.size() > 1 && word.starts_with('-')) {
    return unknown_option(app, command, word);
  }
  if (&command != &app) {
    const bool asks =
        command.get_name() == "eval" || command.get_name() == "peek";
    const std::string joined = asks ? typed_joined(command.remaining()) : "";
    return {.id = ErrorId::Usage,
            .message = "unexpected argument: " + printable(word),
            .hint = joined.empty() ? name_of(command) + " --help" : joined};
  }
  if (const auto pid = parse_number<int>(word); pid && *pid > 0) {
    return {.id = ErrorId::Usage,
            .message = fmt::format("no command is given for process {}", *pid),
            .hint = fmt::format("hangdbg diagnose {}", *pid)};
  }
  return unknown_command(app, word);
}

Error unknown_option(const CLI::App& app,
                     const CLI::App& command,
                     const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  Error error{.id = ErrorId::Usage,
              .message = "unknown option: " + printable(name),
              .hint = name_of(command) + " --help"};
  const std::string value = word.substr(name.size());
  if (const auto meant = closest(name, long_names(command))) {
    error.hint = typed_but(word, *meant + value);
    return error;
  }
  // Of a command, and typed before it, or without it.
  const auto named = app.get_subcommands();
  if (named.empty() && (name == "-p" || name == "--pid")) {
    error.message =
        fmt::format("option {} needs a command before it", printable(name));
    auto words = typed_words();
    words.insert(words.begin() + 1, "diagnose");
    error.hint = printable(shell_quote(words));
    return error;
  }
  const CLI::App* const its =
      named.empty() ? find_command(app, "ps") : named.front();
  if (&command == &app && its != nullptr &&
      its->get_option_no_throw(name) != nullptr) {
    error.message =
        fmt::format("option {} needs a command before it", printable(name));
    error.hint = fmt::format("hangdbg {} {}", its->get_name(),
                             printable(shell_quote(word)));
  }
  return error;
}

std::string message_of(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (const auto name = first_missing(command)) {
      return "missing " + *name;
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
      text.ends_with(" missing")) {
    return text.substr(0, text.find(':')) + ": missing value";
  }
  if (constexpr std::string_view kFewest = ": At least ";
      dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
      text.find(kFewest) != std::string::npos) {
    const auto name = text.substr(0, text.find(kFewest));
    const auto count = text.substr(name.size() + kFewest.size());
    return fmt::format("{}: {} are needed", name,
                       count.substr(0, count.find(' ')));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    constexpr std::string_view kBegin = "Could not convert: ";
    const auto equals = text.find(" = ");
    if (text.starts_with(kBegin) && equals != std::string::npos) {
      return fmt::format("{}: not a number: {}",
                         text.substr(kBegin.size(), equals - kBegin.size()),
                         text.substr(equals + 3));
    }
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    const auto at = text.find(" excludes ");
    if (at != std::string::npos) {
      return fmt::format("{} and {} cannot be combined", text.substr(0, at),
                         text.substr(at + 10));
    }
  }
  return text;
}

std::optional<std::string> first_missing(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) {
      return option->get_positional()
                 ? "argument: " + positional_name(*option)
                 : "option: " + option->get_name() + " " + value_name(*option);
    }
  }
  return std::nullopt;
}

std::optional<std::string> first_left_over(const CLI::App& command) {
  const auto words = command.remaining();
  const auto found = std::ranges::find_if(
      words, [](const std::string& word) { return word != "--"; });
  return found == words.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

std::string name_of(const CLI::App& command) {
  return command.get_parent() == nullptr ? "hangdbg"
                                         : "hangdbg " + command.get_name();
}

}  // namespace
}  // namespace hangdbg
