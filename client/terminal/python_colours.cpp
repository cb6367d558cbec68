#include "client/terminal/python_colours.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace hangdbg {
namespace {

constexpr auto kKeywords = std::to_array<std::string_view>(
    {"False",  "None",   "True",    "and",      "as",       "assert", "async",
     "await",  "break",  "class",   "continue", "def",      "del",    "elif",
     "else",   "except", "finally", "for",      "from",     "global", "if",
     "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
     "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"});

constexpr const char* kKeyword = "35";
constexpr const char* kString = "32";
constexpr const char* kNumber = "36";
constexpr const char* kComment = "2";

bool in_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || byte == '_' || byte >= 0x80;
}

// "r", "b", "f", "u", "t", in any case, and two of them.
bool is_prefix(std::string_view word) {
  return word.size() <= 2 && std::ranges::all_of(word, [](char c) {
           return std::string_view("rbfutRBFUT").contains(c);
         });
}

std::string in(const char* colour, std::string_view text) {
  return fmt::format("\x1b[{}m{}\x1b[0m", colour, text);
}

}  // namespace

// Behind its last quote, or the end of the line.
std::size_t PythonColours::end_of_string(std::string_view text,
                                         std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text.substr(at).starts_with(quotes_)) {
      at += quotes_.size();
      quotes_.clear();
      return at;
    }
  }
  if (quotes_.size() == 1 && !text.ends_with('\\')) {
    quotes_.clear();
  }
  return text.size();
}

std::string PythonColours::line(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  if (!quotes_.empty()) {
    at = end_of_string(text, 0);
    out += in(kString, text.substr(0, at));
  }
  while (at < text.size()) {
    const std::size_t start = at;
    if (text[at] == '#') {
      return out + in(kComment, text.substr(at));
    }
    if (in_name(text[at])) {
      const bool is_number = std::isdigit(static_cast<unsigned char>(text[at]));
      while (at < text.size() &&
             (in_name(text[at]) || (is_number && text[at] == '.'))) {
        ++at;
      }
      const auto word = text.substr(start, at - start);
      const bool is_string = at < text.size() && is_prefix(word) &&
                             (text[at] == '"' || text[at] == '\'');
      if (!is_string) {
        out += is_number                                 ? in(kNumber, word)
               : std::ranges::count(kKeywords, word) > 0 ? in(kKeyword, word)
                                                         : std::string(word);
        continue;
      }
    }
    if (text[at] == '"' || text[at] == '\'') {
      const std::string three(3, text[at]);
      quotes_ =
          text.substr(at).starts_with(three) ? three : std::string(1, text[at]);
      at = end_of_string(text, at + quotes_.size());
      out += in(kString, text.substr(start, at - start));
      continue;
    }
    out += text[at++];
  }
  return out;
}

}  // namespace hangdbg
