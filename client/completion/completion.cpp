#include "client/completion/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::string_view kFiles[] = {"FILE", "DIR", "EXE", "EXECUTABLE",
                                       "PLACE"};

// A line as far as it has been typed.
struct Line {
  const CLI::App* command;
  const CLI::Option* awaited = nullptr;  // the option whose value comes next
  std::set<const CLI::Option*> given;
  std::size_t positionals = 0;
  bool options_end = false;  // after "--"
  TypedBefore before;

  void take(const CLI::App& app, const std::string& word);
  void take_option(const std::string& word);
  void remember(const CLI::Option& option, const std::string& value);
};

Completions values(const CLI::Option& option,
                   const std::string& typed,
                   const TypedBefore& before,
                   const LiveValues& live);
std::vector<Candidate> names(const Line& line);
std::vector<Candidate> commands(const CLI::App& app);
const CLI::App* command_called(const CLI::App& app, const std::string& name);
const CLI::Option* positional(const CLI::App& command, std::size_t index);
bool takes_value(const CLI::Option& option);
std::string kind_of(const CLI::Option& option);
bool runs_another(const Line& line);
Completions beginning_with(Completions all, std::string_view typed);

}  // namespace

Completions complete(const CLI::App& app,
                     std::span<const std::string> words,
                     const LiveValues& live) {
  Line line{&app};
  const std::string typed = words.empty() ? "" : words.back();
  for (const std::string& word : words.first(words.size() - !words.empty())) {
    line.take(app, word);
  }
  Completions found;
  const auto equals = typed.find('=');
  if (line.awaited != nullptr) {
    found = values(*line.awaited, typed, line.before, live);
  } else if (runs_another(line)) {
    found.files = true;
  } else if (!line.options_end && typed.starts_with('-')) {
    const CLI::Option* const option =
        equals == std::string::npos
            ? nullptr
            : line.command->get_option_no_throw(typed.substr(0, equals));
    if (option == nullptr) {
      found.candidates = names(line);
    } else if (takes_value(*option)) {
      found = values(*option, typed.substr(equals + 1), line.before, live);
      for (Candidate& each : found.candidates) {
        each.word.insert(0, typed, 0, equals + 1);
      }
    }
  } else if (line.command != &app && line.command->get_name() == "help" &&
             line.positionals == 0) {
    found.candidates = commands(app);
  } else if (const auto* next = positional(*line.command, line.positionals)) {
    found = values(*next, typed, line.before, live);
  } else if (line.command == &app) {
    if (line.positionals == 0) {
      found.candidates = commands(app);
    }
  } else if (typed.empty() && line.positionals == 0) {
    found.candidates = names(line);
  }
  return beginning_with(std::move(found), typed);
}

namespace {

void Line::take(const CLI::App& app, const std::string& word) {
  if (awaited != nullptr) {
    remember(*std::exchange(awaited, nullptr), word);
  } else if (!options_end && word == "--") {
    options_end = true;
  } else if (!options_end && word.size() > 1 && word.starts_with('-')) {
    take_option(word);
  } else if (const auto* named =
                 command == &app ? command_called(app, word) : nullptr) {
    command = named;
  } else {
    if (const auto* option = positional(*command, positionals)) {
      remember(*option, word);
    }
    ++positionals;
  }
}

// "--job=7", "--job" with the 7 to come, "-p7", "-p".
void Line::take_option(const std::string& word) {
  const bool is_long = word.starts_with("--");
  const auto end = is_long ? word.find('=') : std::string::size_type{2};
  const auto* const option = command->get_option_no_throw(word.substr(0, end));
  if (option == nullptr) {
    return;
  }
  given.insert(option);
  if (!takes_value(*option)) {
    return;
  }
  if (end < word.size()) {
    remember(*option, word.substr(end + (is_long ? 1 : 0)));
  } else {
    awaited = option;
  }
}

void Line::remember(const CLI::Option& option, const std::string& value) {
  const std::string kind = kind_of(option);
  if (kind.starts_with("PID")) {
    before.pid = value;
  } else if (kind.starts_with("JOB")) {
    before.job = value;
  }
}

// Of "0,3-5,1" what is behind the last comma is completed.
Completions values(const CLI::Option& option,
                   const std::string& typed,
                   const TypedBefore& before,
                   const LiveValues& live) {
  Completions found;
  const std::string all_kinds = kind_of(option);
  for (const std::string_view kind : split(all_kinds, '|')) {
    if (std::ranges::find(kFiles, kind) != std::end(kFiles)) {
      found.files = true;
    } else if (std::ranges::all_of(kind, [](unsigned char letter) {
                 return std::islower(letter) != 0;
               })) {
      found.candidates.push_back({std::string(kind), ""});
    } else {
      std::ranges::move(live(kind, before),
                        std::back_inserter(found.candidates));
    }
  }
  const auto comma = typed.rfind(',');
  if (all_kinds.starts_with("SET") && comma != std::string::npos) {
    std::erase_if(found.candidates,
                  [](const Candidate& each) { return each.word == "all"; });
    for (Candidate& each : found.candidates) {
      each.word.insert(0, typed, 0, comma + 1);
    }
  }
  return beginning_with(std::move(found), typed);
}

// The long names of what may still be given; a short one where there is no
// other.
std::vector<Candidate> names(const Line& line) {
  std::vector<Candidate> found;
  for (const CLI::Option* option : line.command->get_options()) {
    const bool again =
        option->get_items_expected_max() > 1 || option->get_allow_extra_args();
    if (option->get_positional() || option->get_group().empty() ||
        (line.given.contains(option) && !again)) {
      continue;
    }
    const auto add = [&](const std::string& name) {
      found.push_back({name, option->get_description()});
    };
    for (const std::string& name : option->get_lnames()) {
      add("--" + name);
    }
    if (option->get_lnames().empty()) {
      for (const std::string& name : option->get_snames()) {
        add("-" + name);
      }
    }
  }
  return found;
}

std::vector<Candidate> commands(const CLI::App& app) {
  std::vector<Candidate> found;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      found.push_back({command->get_name(), command->get_description()});
    }
  }
  return found;
}

const CLI::App* command_called(const CLI::App& app, const std::string& name) {
  const auto all = app.get_subcommands({});
  const auto found = std::ranges::find_if(
      all, [&](const CLI::App* one) { return one->check_name(name); });
  return found == all.end() ? nullptr : *found;
}

// The last one of a command may be there many times.
const CLI::Option* positional(const CLI::App& command, std::size_t index) {
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) {
      continue;
    }
    if (index == 0) {
      return option;
    }
    --index;
    last = option;
  }
  return last != nullptr && last->get_items_expected_max() > 1 ? last : nullptr;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

std::string kind_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return option.get_positional() && (type.empty() || type == "TEXT")
             ? option.get_single_name()
             : type;
}

// "hangdbg run SCRIPT ARGS", "hangdbg run -- COMMAND ARGS".
bool runs_another(const Line& line) {
  return line.command->get_name() == "run" &&
         (line.options_end || line.positionals > 0);
}

Completions beginning_with(Completions all, std::string_view typed) {
  std::erase_if(all.candidates, [&](const Candidate& each) {
    return !each.word.starts_with(typed);
  });
  return all;
}

}  // namespace
}  // namespace hangdbg
