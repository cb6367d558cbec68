#include "client/prompt/completion.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/text.h"
#include "client/prompt/argument_names.h"
#include "client/prompt/command.h"
#include "client/terminal/render.h"
#include "protocol/requests/completions.h"
#include "server/session/pdb_line.h"

namespace hangdbg {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);
constexpr std::size_t kMostLabels = 200;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// DAP counts text in UTF-16 code units: how many a character has that begins
// with this byte.
std::int64_t units(char byte) {
  if (is_continuation(byte)) {
    return 0;
  }
  return static_cast<unsigned char>(byte) >= 0xF0 ? 2 : 1;
}

std::int64_t units(std::string_view text) {
  std::int64_t count = 0;
  for (const char byte : text) {
    count += units(byte);
  }
  return count;
}

// The last `count` units of the text.
std::string_view last_units(std::string_view text, std::int64_t count) {
  std::size_t at = text.size();
  while (count > 0 && at > 0) {
    --at;
    count -= units(text[at]);
  }
  return text.substr(at);
}

// The command that the cursor is in.
std::string_view current_command(std::string_view line) {
  const auto commands = split_commands(line);
  if (commands.empty() || trim(line).ends_with(";;")) {
    return {};
  }
  return trim(line.substr(line.rfind(commands.back())));
}

struct Names {
  std::string_view word;  // what they replace
  std::vector<std::string> labels;
};

void add_starting(Names& names, std::string_view label) {
  if (label.starts_with(names.word)) {
    names.labels.emplace_back(label);
  }
}

void add_commands(Names& names) {
  for (const Command* const command : all_commands()) {
    for (const std::string_view name : command->names) {
      add_starting(names, name);
    }
  }
}

void add_python(PromptState& state,
                std::string_view expression,
                Names& names,
                Deadline deadline) {
  if (state.session.read_only() ||
      !state.session.need("completions", deadline)) {
    return;
  }
  const auto body = ask_in_frame<dap::Completions>(
      state,
      {.text = std::string(expression), .column = units(expression) + 1});
  if (!body) {
    log::debug(log::Area::Client, "no completions: {}", body.error().text());
    return;
  }
  for (const auto& item : body->targets) {
    names.word = last_units(expression, item.length.value_or(0));
    names.labels.push_back(printable(item.label));
  }
}

// `argument`: up to the cursor.
void add_words(PromptState& state,
               std::string_view command,
               std::string_view argument,
               Names& names,
               Deadline deadline) {
  const auto known = argument_names(state, command, argument, deadline);
  const auto word = last_word(command, argument);
  names.word = word;
  for (const std::string& one : known.words) {
    add_starting(names, printable(one));
  }
  if (known.is_python && names.labels.empty()) {
    add_python(state, word, names, deadline);
  }
}

Names names_at(PromptState& state, std::string_view before_cursor) {
  const auto deadline = state.deadline().capped(kPatience);
  const std::string_view text = current_command(before_cursor);
  const auto [name, argument] = parse_command(text, word_kind);
  const bool space_behind =
      !before_cursor.empty() && before_cursor.ends_with(' ');
  Names names;
  if (state.reader) {  // lines of `interact`, or of `commands`
    if (state.reader_takes_python) {
      names.word = before_cursor;
      add_python(state, before_cursor, names, deadline);
    }
    return names;
  }
  if (text == name && !space_behind) {  // the command's name, as yet
    names.word = text;
    add_commands(names);
    if (!text.empty()) {
      add_python(state, text, names, deadline);
    }
    return names;
  }
  names.word = argument.empty() ? "" : text.substr(text.rfind(argument));
  const bool is_expression =
      name.empty() || word_kind(name) == Word::CommandOnExpression;
  if (is_expression) {
    if (name.empty() && text.starts_with("info ")) {
      add_words(state, "info", text.substr(5), names, deadline);
      return names;
    }
    const std::string_view python = names.word;
    if (name.empty() && !space_behind && !text.starts_with('!')) {
      add_commands(names);
    }
    add_python(state, python, names, deadline);
    return names;
  }
  // With the space that was typed behind it: a new word begins there.
  const std::string_view whole =
      space_behind && !argument.empty()
          ? before_cursor.substr(before_cursor.rfind(argument))
          : names.word;
  add_words(state, name, whole, names, deadline);
  return names;
}

}  // namespace

Completion complete(PromptState& state, std::string_view before_cursor) {
  Names names = names_at(state, before_cursor);
  auto& labels = names.labels;
  std::ranges::sort(labels);
  labels.erase(std::ranges::unique(labels).begin(), labels.end());
  if (labels.empty()) {
    return {};
  }
  Completion completion;
  completion.common = common_prefix(labels).substr(
      std::min(names.word.size(), common_prefix(labels).size()));
  if (labels.size() > 1) {
    completion.labels = std::move(labels);
  }
  return completion;
}

void list_labels(const std::vector<std::string>& labels) {
  std::size_t width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, label.size() + 2);
  }
  const std::size_t a_row = std::max<std::size_t>(
      static_cast<std::size_t>(terminal_columns()) / width, 1);
  const std::size_t count = std::min(labels.size(), kMostLabels);
  for (std::size_t i = 0; i < count; ++i) {
    say("{}{:<{}}", i % a_row == 0 ? "\n" : "", labels[i], width);
  }
  if (count < labels.size()) {
    say("\n"
        "... {} more",
        labels.size() - count);
  }
  say("\n");
  flush_output(stdout);
}

std::string common_prefix(const std::vector<std::string>& words) {
  if (words.empty()) {
    return {};
  }
  std::size_t length = words.front().size();
  for (const std::string& word : words) {
    const auto [a, b] = std::ranges::mismatch(words.front(), word);
    length =
        std::min(length, static_cast<std::size_t>(a - words.front().begin()));
  }
  while (length > 0 && length < words.front().size() &&
         is_continuation(words.front()[length])) {
    --length;
  }
  return words.front().substr(0, length);
}

}  // namespace hangdbg
