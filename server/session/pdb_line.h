// A typed line taken apart as pdb does it: `;;` between commands, a command's
// name or an abbreviation of it in front, else Python.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hangdbg {

// The commands of a line, without the white space around them; none is empty.
// A `;;` inside a string of Python separates nothing, nor does one after the
// first line of a statement that has several.
std::vector<std::string> split_commands(std::string_view line);

// "p self.x" is {"p", "self.x"}; Python is {"", text}.
struct TypedCommand {
  std::string name;
  std::string argument;
};

// What there is to know of a word to take a line apart.
enum class Word { Python, Command, CommandOnExpression };

// `kind` says what a word is. A command's name is followed by white space or
// nothing; one that takes an expression also by "(", as in p(x). A name that
// is used as one (`c = 3`, `l[0]`, `n.x`) is Python. `!` in front always means
// Python, `?` means help.
TypedCommand parse_command(std::string_view text,
                           const std::function<Word(std::string_view)>& kind);

// The first word, and what comes behind it, trimmed.
std::pair<std::string_view, std::string_view> split_word(std::string_view text);

}  // namespace hangdbg
