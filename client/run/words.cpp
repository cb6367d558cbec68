#include "client/run/words.h"

#include <algorithm>
#include <string_view>

namespace hangdbg {
namespace {

// The flags of `run` that take the next word.
constexpr std::string_view kWithValue[] = {"-c", "--color", "--log", "--python",
                                           "--timeout"};

}  // namespace

RunWords split_run_words(std::span<char*> words) {
  if (words.size() < 2) {
    return {};
  }
  if (std::string_view(words[1]) == "record") {
    const auto dashes = std::ranges::find(words.begin() + 2, words.end(),
                                          std::string_view("--"));
    return dashes == words.end()
               ? RunWords()
               : RunWords{words.subspan(static_cast<std::size_t>(
                              dashes + 1 - words.begin())),
                          true};
  }
  if (std::string_view(words[1]) != "run") {
    return {};
  }
  for (std::size_t at = 2; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == "--") {
      return {words.subspan(at + 1), true};
    }
    if (!word.starts_with('-')) {
      return {words.subspan(at), false};
    }
    at += std::ranges::count(kWithValue, word);
  }
  return {};
}

}  // namespace hangdbg
