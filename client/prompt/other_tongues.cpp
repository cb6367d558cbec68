#include "client/prompt/other_tongues.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>

#include "base/text.h"
#include "server/session/pdb_line.h"

namespace hangdbg {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Of gdb's Python commands; an argument stays.
constexpr auto kWords = std::to_array<Pair>({
    {"py-bt", "where"},
    {"py-bt-full", "where"},
    {"py-list", "list"},
    {"py-up", "up"},
    {"py-down", "down"},
    {"py-print", "p"},
    {"py-locals", "pp locals()"},
});

// No Python: two names side by side.
constexpr auto kInfo = std::to_array<Pair>({
    {"threads", "threads"},
    {"args", "args"},
    {"locals", "pp locals()"},
    {"breakpoints", "break"},
    {"b", "break"},
    {"source", "list ."},
});

const Pair* find(std::span<const Pair> pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, &Pair::first);
  return found == pairs.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string_view> words_after_info() {
  std::vector<std::string_view> words;
  for (const auto& [word, command] : kInfo) {
    words.push_back(word);
  }
  return words;
}

namespace {

// `self.run` of "self.run?": no other text may end so.
bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 || c == '_' || c == '.';
  });
}

}  // namespace

std::string as_typed_here(std::string_view text) {
  text = trim(text);
  const auto [word, rest] = split_word(text);
  if (const Pair* const pair = find(kWords, word)) {
    return std::string(trim(fmt::format("{} {}", pair->second, rest)));
  }
  if (const Pair* const pair = word == "info" ? find(kInfo, rest) : nullptr) {
    return std::string(pair->second);
  }
  const auto end = text.find_last_not_of('?') + 1;
  const std::string_view name = text.substr(0, end);
  if (const auto marks = text.size() - end;
      (marks == 1 || marks == 2) && is_name(name)) {
    return fmt::format("{} {}", marks == 1 ? "describe" : "source", name);
  }
  return std::string(text);
}

}  // namespace hangdbg
