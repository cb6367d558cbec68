#include "client/prompt/argument_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/command.h"
#include "client/prompt/other_tongues.h"
#include "protocol/requests/exceptions.h"
#include "protocol/requests/modules.h"
#include "protocol/requests/scopes.h"
#include "protocol/requests/threads.h"
#include "server/session/hold.h"

namespace hangdbg {
namespace {

using Words = std::vector<std::string>;
constexpr std::size_t kMostFiles = 1000;

template <class... T>
bool is_one_of(std::string_view name, T... names) {
  return ((name == names) || ...);
}

bool sets_breakpoint(std::string_view command) {
  return is_one_of(command, "b", "break", "tbreak");
}

bool takes_number_of_breakpoint(std::string_view command) {
  return is_one_of(command, "cl", "clear", "disable", "enable", "ignore",
                   "condition", "commands");
}

// Python files and folders beside what is typed, as a path is.
void add_files(std::string_view typed, Words& words) {
  const std::string folder(typed.substr(0, typed.rfind('/') + 1));
  std::error_code error;
  std::filesystem::directory_iterator files(folder.empty() ? "." : folder,
                                            error);
  for (; !error && files != std::filesystem::directory_iterator() &&
         words.size() < kMostFiles;
       files.increment(error)) {
    const std::string name = files->path().filename();
    std::error_code ignored;
    if (name.ends_with(".py")) {
      words.push_back(folder + name + ":");
    } else if (!name.starts_with('.') && !typed.empty() &&
               files->is_directory(ignored)) {
      words.push_back(folder + name + "/");
    }
  }
}

// Lines on which something may run.
void add_lines(PromptState& state,
               const std::string& path,
               std::string_view before,
               std::int64_t from,
               Words& words) {
  std::int64_t number = 0;
  for (const std::string& line : state.sources.lines(path)) {
    const auto text = trim(line);
    if (++number >= from && !text.empty() && !text.starts_with('#')) {
      words.push_back(fmt::format("{}{}", before, number));
    }
  }
}

struct LoadedModule {
  std::string name;
  std::string path;  // of its source; or empty
};

std::vector<LoadedModule> loaded_modules(PromptState& state,
                                         Deadline deadline) {
  std::vector<LoadedModule> found;
  if (state.session.read_only() || !state.session.need("modules", deadline)) {
    return found;
  }
  const auto body = state.session.call<dap::Modules>({}, deadline);
  if (!body) {
    return found;
  }
  for (const dap::Module& one : body->modules) {
    if (one.path && one.path->ends_with(".py")) {
      found.push_back({one.name, *one.path});
    }
  }
  return found;
}

// Files, modules, and behind a colon the lines of one.
void add_places(PromptState& state,
                std::string_view typed,
                Words& words,
                Deadline deadline) {
  const auto modules = loaded_modules(state, deadline);
  const auto& frames = state.place.thread().stack.stack_frames;
  if (const auto colon = typed.rfind(':'); colon != typed.npos) {
    const std::string_view file = typed.substr(0, colon);
    std::string path(file);
    for (const LoadedModule& one : modules) {
      if (one.name == file || one.path == file ||
          one.path.ends_with(fmt::format("/{}", file))) {
        path = one.path;
      }
    }
    for (const dap::StackFrame& frame : frames) {
      const auto source = frame.source ? frame.source->path.value_or("") : "";
      if (source.ends_with(fmt::format("/{}", file))) {
        path = source;
      }
    }
    add_lines(state, path, typed.substr(0, colon + 1), 1, words);
    return;
  }
  add_files(typed, words);
  for (const LoadedModule& one : modules) {
    words.push_back(one.name + ":");
  }
  for (const dap::StackFrame& frame : frames) {
    const std::string path =
        frame.source ? frame.source->path.value_or("") : "";
    if (path.ends_with(".py")) {
      words.push_back(path.substr(path.rfind('/') + 1) + ":");
    }
  }
}

void add_threads(PromptState& state, Words& words, Deadline deadline) {
  words.emplace_back("main");
  if (const auto listed = state.session.threads(deadline)) {
    for (const dap::Thread& thread : listed->threads) {
      words.push_back(thread.name);
      words.push_back(fmt::format("{}", thread.id));
    }
  }
}

void add_ranks(const PromptState& state, Words& words) {
  if (state.others == nullptr) {
    return;
  }
  for (const AttachedRank* const one : state.others->all()) {
    if (one->rank) {
      words.push_back(fmt::format("{}", *one->rank));
    }
  }
}

// Only where the thread has stopped for one: else nothing is sent for it.
void add_exceptions(PromptState& state, Words& words, Deadline deadline) {
  dap::Exceptions::Arguments wanted;
  const auto number = agents_number(state.session, state.place.thread().tid);
  if (!number) {
    return;
  }
  wanted.thread_id = *number;
  if (const auto body =
          state.session.call<dap::Exceptions>(std::move(wanted), deadline)) {
    for (std::size_t i = 0; i < body->exceptions.size(); ++i) {
      words.push_back(fmt::format("{}", i));
    }
  }
}

void add_frames(const PromptState& state, bool is_up, Words& words) {
  const std::size_t index = state.place.index();
  const std::size_t count = state.place.thread().stack.stack_frames.size();
  const std::size_t most = is_up ? count - std::min(index + 1, count) : index;
  for (std::size_t i = 1; i <= most; ++i) {
    words.push_back(fmt::format("{}", i));
  }
}

// Of the frame's function.
void add_lines_here(PromptState& state, std::int64_t from, Words& words) {
  const auto body = ask_in_frame<dap::Scopes>(state, {});
  if (!body || body->scopes.empty() || !body->scopes.front().line) {
    return;
  }
  const dap::Scope& scope = body->scopes.front();
  const auto& source = state.place.frame().source;
  add_lines(state, source ? source->path.value_or("") : "", "",
            std::max(from, scope.line.value_or(1)), words);
  const auto last = scope.end_line.value_or(from);
  std::erase_if(words, [&](const std::string& word) {
    return parse_number<std::int64_t>(word).value_or(0) > last;
  });
}

void add_commands(Words& words) {
  for (const Command* const command : all_commands()) {
    words.insert(words.end(), command->names.begin(), command->names.end());
  }
}

}  // namespace

std::string_view last_word(std::string_view command,
                           std::string_view argument) {
  if (sets_breakpoint(command)) {
    return argument.contains(',') ? argument.substr(argument.rfind(',') + 1)
                                  : argument;
  }
  const bool is_one = is_one_of(command, "thread", "undisplay");
  const auto space = argument.find_last_of(" ,");
  return is_one || space == argument.npos ? argument
                                          : argument.substr(space + 1);
}

ArgumentNames argument_names(PromptState& state,
                             std::string_view command,
                             std::string_view argument,
                             Deadline deadline) {
  ArgumentNames found;
  Words& words = found.words;
  const bool is_first = !argument.contains(' ');
  if (sets_breakpoint(command)) {
    found.is_python = !argument.contains(':') || argument.contains(',');
    if (!argument.contains(',')) {
      add_places(state, argument, words, deadline);
    }
  } else if (takes_number_of_breakpoint(command)) {
    if (is_first || !is_one_of(command, "condition", "ignore")) {
      for (const PromptBreakpoint& one : state.breakpoints.all()) {
        words.push_back(fmt::format("{}", one.number));
      }
    }
    found.is_python = command == "condition" && !is_first;
  } else if (is_one_of(command, "h", "help")) {
    add_commands(words);
  } else if (command == "thread") {
    add_threads(state, words, deadline);
  } else if (is_one_of(command, "rank", "ranks")) {
    if (is_first) {
      add_ranks(state, words);
      if (command == "ranks") {
        words.emplace_back("all");
      }
    } else {
      add_commands(words);
      found.is_python = true;
    }
  } else if (command == "exceptions") {
    add_exceptions(state, words, deadline);
  } else if (is_one_of(command, "u", "up", "d", "down")) {
    add_frames(state, is_one_of(command, "u", "up"), words);
  } else if (is_one_of(command, "unt", "until")) {
    add_lines_here(state, state.place.frame().line + 1, words);
  } else if (is_one_of(command, "j", "jump")) {
    add_lines_here(state, 1, words);
  } else if (is_one_of(command, "l", "list")) {
    words.emplace_back(".");
  } else if (command == "info") {
    for (const std::string_view word : words_after_info()) {
      words.emplace_back(word);
    }
  } else if (command == "undisplay") {
    for (const Display& one : state.displays) {
      words.push_back(one.expression);
    }
  } else if (is_one_of(command, "alias", "unalias")) {
    for (const auto& [name, text] : state.aliases) {
      words.push_back(name);
    }
    if (command == "alias" && !is_first) {
      add_commands(words);
    }
  } else if (is_one_of(command, "display", "raise", "watch", "catch", "!")) {
    found.is_python = true;
  }
  return found;
}

}  // namespace hangdbg
