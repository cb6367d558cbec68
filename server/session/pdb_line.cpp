#include "server/session/pdb_line.h"

#include <cctype>

#include "base/text.h"

namespace hangdbg {
namespace {

// The length of the string of Python that `text` begins with: "..." '...'
// """...""" '''...'''; one that is never closed ends with the text.
std::size_t string_length(std::string_view text) {
  const char quote = text[0];
  const std::string thrice(3, quote);
  const std::string_view end =
      text.starts_with(thrice) ? std::string_view(thrice) : text.substr(0, 1);
  for (std::size_t at = end.size(); at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text.substr(at).starts_with(end)) {
      return at + end.size();
    }
  }
  return text.size();
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// "= 3", "+= 1", ">>= 1", but not "== 3" or ">= 3".
bool assigns(std::string_view rest) {
  rest = trim(rest);
  const auto sign = rest.find_first_not_of("+-*/%@&|^<>");
  if (sign == rest.npos || sign > 3 || rest[sign] != '=' ||
      rest.substr(sign).starts_with("==")) {
    return false;
  }
  const bool compares = sign == 1 && (rest[0] == '<' || rest[0] == '>');
  return !compares;
}

}  // namespace

std::vector<std::string> split_commands(std::string_view line) {
  std::vector<std::string> commands;
  std::size_t start = 0;
  const auto add = [&](std::size_t end) {
    const auto command = trim(line.substr(start, end - start));
    if (!command.empty()) {
      commands.emplace_back(command);
    }
  };
  std::size_t at = 0;
  while (at < line.size()) {
    if (line[at] == '"' || line[at] == '\'') {
      at += string_length(line.substr(at));
    } else if (line[at] == '\n') {
      break;  // the rest belongs to the last one
    } else if (line.substr(at).starts_with(";;")) {
      add(at);
      at += 2;
      start = at;
    } else {
      ++at;
    }
  }
  add(line.size());
  return commands;
}

TypedCommand parse_command(std::string_view text,
                           const std::function<Word(std::string_view)>& kind) {
  text = trim(text);
  if (text.starts_with('!')) {
    return {"", std::string(trim(text.substr(1)))};
  }
  if (text.starts_with('?')) {
    return {"help", std::string(trim(text.substr(1)))};
  }
  std::size_t end = 0;
  while (end < text.size() && is_name_character(text[end])) {
    ++end;
  }
  const std::string_view name = text.substr(0, end);
  const std::string_view rest = text.substr(end);
  const Word word = kind(name);
  const bool stands_alone =
      rest.empty() || std::isspace(static_cast<unsigned char>(rest[0])) != 0 ||
      (rest[0] == '(' && word == Word::CommandOnExpression);
  if (word == Word::Python || !stands_alone || assigns(rest)) {
    return {"", std::string(text)};
  }
  return {std::string(name), std::string(trim(rest))};
}

std::pair<std::string_view, std::string_view> split_word(
    std::string_view text) {
  const auto end = text.find_first_of(" \t");
  return end == text.npos
             ? std::pair(text, std::string_view())
             : std::pair(text.substr(0, end), trim(text.substr(end)));
}

}  // namespace hangdbg
