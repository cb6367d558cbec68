// Declares the command line: its commands, their options and positionals, and
// where the values go.
//
// Behind it is CLI11, whose templates take a compiler seconds a file: the few
// files that include it are named in tests/unit/layers_test.cpp. Both classes
// are handles, to be passed by value; what they refer to is the CLI::App's.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
class Option;
}  // namespace CLI

namespace hangdbg::cli {

// A command, ready to run. Returns the exit code.
using Run = std::function<int()>;

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  // What the help calls its value. Completion goes by it: "PID" is a process of
  // this machine, "auto|never" one of these words.
  Option type_name(std::string_view name) const;
  // A positional of which the help tells the name alone; it is the type, too.
  Option bare() const;
  Option description(std::string_view text) const;
  Option hidden() const;
  // One that all commands have: the help lists it behind the command's own.
  Option common() const;

  Option required() const;
  Option expected(int count) const;
  // Also sets type_name().
  Option one_of(std::initializer_list<std::string_view> words) const;
  Option in_range(double least, double most) const;
  Option in_range(std::size_t least, std::size_t most) const;
  // The help tells the value that there is now as the default.
  Option in_shown_range(double least, double most) const;
  Option excludes(Option other) const;
  Option needs(Option other) const;

  // Of a vector: of "-p 1 2" only the 1 is its value.
  Option one_at_a_time() const;
  // Of a vector: as many as there are, even none ("-c []").
  Option take_all() const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  // `chosen` becomes the Run of the command that the line names.
  Command(CLI::App& app, Run& chosen) : app_(&app), chosen_(&chosen) {}

  Command add_command(std::string_view name,
                      std::string_view description) const;
  // An older name, which no help shows.
  void alias(std::string_view name) const;
  // What the help has besides the options: blocks, with an empty line between
  // them. The lines of a block stay as they are below "Usage:" and "Examples:";
  // any other one is a paragraph, in one line, to be wrapped.
  void footer(std::string_view text) const;
  void runs(Run run) const;

  // `names`: "-p,--pid", or "PID" for a positional. What the line does not have
  // stays as it is.
  Option add_option(std::string_view names,
                    std::string& value,
                    std::string_view description) const;
  Option add_option(std::string_view names,
                    std::vector<std::string>& value,
                    std::string_view description) const;
  Option add_option(std::string_view names,
                    double& value,
                    std::string_view description) const;
  Option add_option(std::string_view names,
                    std::size_t& value,
                    std::string_view description) const;
  Option add_option(std::string_view names,
                    std::optional<double>& value,
                    std::string_view description) const;
  Option add_option(std::string_view names,
                    std::optional<std::size_t>& value,
                    std::string_view description) const;
  // An error is wrong usage; the user sees its message.
  Option add_option(std::string_view names,
                    std::function<Status(const std::string&)> take,
                    std::string_view description) const;
  // One of `words`, by its place among them. Also sets type_name().
  Option add_choice(std::string_view names,
                    std::initializer_list<std::string_view> words,
                    std::function<void(int)> take,
                    std::string_view description) const;

  Option add_flag(std::string_view names,
                  bool& value,
                  std::string_view description = {}) const;
  // May have a value, "--python=3"; without one it is 1, or "true".
  Option add_flag(std::string_view names,
                  int& value,
                  std::string_view description) const;
  Option add_flag(std::string_view names,
                  std::string& value,
                  std::string_view description) const;

  // One that has been added.
  Option option(std::string_view name) const;

  // What matches no declaration is no error, but among the extras.
  void allow_extras() const;
  std::vector<std::string> extras() const;

 private:
  CLI::App* app_;
  Run* chosen_;
};

}  // namespace hangdbg::cli
