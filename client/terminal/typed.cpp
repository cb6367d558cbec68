#include "client/terminal/typed.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kVariable = "HANGDBG_TYPED";
constexpr char kBetween = '\x1f';

Words typed = {"hangdbg"};
bool asked_by_node = false;

std::string to_line(const Words& words) {
  return printable(shell_quote(words));
}

// Where the command's own options end: at "--", or behind the last word.
Words::iterator end_of_options(Words& words) {
  return std::ranges::find(words, "--");
}

}  // namespace

void remember_typed(std::span<char* const> words) {
  typed.assign(words.begin(), words.end());
  if (const char* const above = std::getenv(kVariable)) {
    const auto all = split(above, kBetween);
    typed.assign(all.begin(), all.end());
    ::unsetenv(kVariable);
  }
  asked_by_node = std::getenv(kNodeVariable) != nullptr;
  ::unsetenv(kNodeVariable);
  if (typed.empty()) {
    typed.emplace_back();
  }
  typed.front() = "hangdbg";
}

bool is_asked_by_node() {
  return asked_by_node;
}

std::string typed_for_child() {
  return typed_for_child(typed);
}

std::string typed_for_child(const Words& words) {
  std::string text = std::string(kVariable) + "=";
  for (const std::string& word : words) {
    text += (&word == &words.front() ? "" : std::string(1, kBetween)) + word;
  }
  return text;
}

std::string typed_command() {
  return to_line(typed);
}

std::string typed_with(std::string_view name, std::string_view value) {
  Words words = typed;
  if (words.size() == 1) {
    words.emplace_back("ps");  // the command that is meant then
  }
  const std::string with_value = std::string(name) + "=";
  for (auto word = words.begin() + 1; word != end_of_options(words); ++word) {
    if (word->starts_with(with_value)) {
      *word = with_value + std::string(value);
      return to_line(words);
    }
    if (*word == name && word + 1 != words.end()) {
      *(word + 1) = value;
      return to_line(words);
    }
  }
  const auto end = end_of_options(words);
  const Words more = {std::string(name), std::string(value)};
  words.insert(end, more.begin(), more.end());
  return to_line(words);
}

const Words& typed_words() {
  return typed;
}

Words typed_words_without(std::string_view name) {
  Words words = typed;
  const std::string with_value = std::string(name) + "=";
  for (auto word = words.begin() + 1; word != end_of_options(words); ++word) {
    if (word->starts_with(with_value)) {
      words.erase(word);
      break;
    }
    if (*word == name && word + 1 != words.end()) {
      words.erase(word, word + 2);
      break;
    }
  }
  return words;
}

std::string typed_without(std::string_view name) {
  return to_line(typed_words_without(name));
}

std::string typed_plus(std::string_view flag) {
  Words words = typed;
  words.insert(end_of_options(words), std::string(flag));
  return to_line(words);
}

std::string typed_as(std::string_view command) {
  Words words = typed;
  words.resize(std::max<std::size_t>(words.size(), 2));
  words[1] = command;
  return to_line(words);
}

std::string typed_but(std::string_view word, std::string_view other) {
  Words words = typed;
  const auto is_meant = [&](const std::string& one) {
    return one == word ||
           (other.empty() && (one == "-p" + std::string(word) ||
                              one == "--pid=" + std::string(word)));
  };
  const auto found = std::find_if(words.begin() + 1, words.end(), is_meant);
  if (found == words.end()) {
    return to_line(words);
  }
  if (!other.empty()) {
    *found = other;
  } else {
    const std::string& before = *(found - 1);
    words.erase(before == "-p" || before == "--pid" ? found - 1 : found,
                found + 1);
  }
  return to_line(words);
}

std::string typed_joined(const std::vector<std::string>& last) {
  Words words = typed;
  const auto found = std::ranges::search(words, last);
  if (last.empty() || found.empty() || found.begin() - words.begin() < 3 ||
      (found.begin() - 1)->starts_with('-')) {
    return {};
  }
  for (const std::string& word : last) {
    *(found.begin() - 1) += " " + word;
  }
  words.erase(found.begin(), found.end());
  return to_line(words);
}

std::string as_typed(std::string_view hint) {
  constexpr std::string_view kAttach = "hangdbg attach ";
  const bool known = typed.size() < 2 || !typed[1].starts_with('-');
  std::string text;
  while (known) {
    const auto at = hint.find(kAttach);
    const auto end = at == std::string_view::npos
                         ? at
                         : std::min(hint.find_first_not_of("0123456789",
                                                           at + kAttach.size()),
                                    hint.size());
    const std::string_view before = hint.substr(0, at);
    if (at == std::string_view::npos ||
        !(before.ends_with("sudo ") || before.ends_with("CONTAINER ") ||
          before.ends_with("in it: "))) {
      break;
    }
    text += std::string(before) + typed_command();
    hint.remove_prefix(end);
  }
  return text + std::string(hint);
}

}  // namespace hangdbg
