#include "client/prompt/statement.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/prompt/command.h"
#include "server/session/pdb_line.h"

namespace hangdbg {
namespace {

constexpr std::string_view kBlanks = " \t\r\f";

// What a pass over some Python finds, as far as it tells where that ends.
struct Scan {
  int brackets = 0;        // open ones
  bool in_string = false;  // of three quotes, or continued by a backslash
  bool continued = false;  // the last line ends with a backslash
  bool is_block = false;   // its first line ends with ":" or begins with @
  bool opens = false;      // its last line with code ends with ":"
  bool ends_with_blank = false;  // its last line is empty
};

// The length of the string at the beginning of `text`; `is_open` if it
// continues behind the end.
std::size_t string_at(std::string_view text, bool& is_open) {
  const char quote = text[0];
  const bool is_long = text.starts_with(std::string(3, quote));
  const std::size_t quotes = is_long ? 3 : 1;
  for (std::size_t at = quotes; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
      is_open = at >= text.size();  // the line ends with it
    } else if (text[at] == '\n' && !is_long) {
      return at;  // an error that no further line fixes
    } else if (text.substr(at).starts_with(std::string(quotes, quote))) {
      is_open = false;
      return at + quotes;
    }
  }
  is_open |= is_long;
  return text.size();
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Scan scan() {
    std::size_t at = 0;
    while (at < text_.size()) {
      at += step(text_.substr(at));
    }
    end_line();
    return found_;
  }

 private:
  std::size_t step(std::string_view rest) {
    const char c = rest[0];
    if (c == '\n') {
      end_line();
      return 1;
    }
    if (c == '#') {
      return std::min(rest.find('\n'), rest.size());
    }
    if (kBlanks.contains(c)) {
      return 1;
    }
    if (first_ == '\0') {
      first_ = c;
    }
    last_ = c;
    if (c == '"' || c == '\'') {
      return string_at(rest, found_.in_string);
    }
    if (c == '\\' && rest.substr(1).starts_with('\n')) {
      return 2;  // no end of a line
    }
    found_.continued = rest == "\\";
    found_.brackets += std::string_view("([{").contains(c) ? 1 : 0;
    found_.brackets -= std::string_view(")]}").contains(c) ? 1 : 0;
    return 1;
  }

  // Of a line that no bracket, string or backslash continues.
  void end_line() {
    if (found_.brackets > 0 || found_.in_string) {
      return;
    }
    found_.ends_with_blank = first_ == '\0';
    if (first_ == '\0') {
      return;
    }
    found_.opens = last_ == ':' || first_ == '@';
    found_.is_block |= is_first_ && found_.opens;
    is_first_ = false;
    first_ = last_ = '\0';
  }

  std::string_view text_;
  Scan found_;
  bool is_first_ = true;
  char first_ = '\0';  // of this line, without white space
  char last_ = '\0';
};

// Where the Python of a line with commands begins: of "p [1," at the bracket.
// npos if it has none.
std::size_t begin_of_python(std::string_view line) {
  const auto commands = split_commands(line);
  if (commands.empty()) {
    return line.npos;
  }
  const std::string_view last = commands.back();
  const auto at = line.rfind(last);
  const TypedCommand typed = parse_command(last, word_kind);
  if (typed.name.empty()) {
    return at + (last.starts_with('!') ? 1 : 0);
  }
  return word_kind(typed.name) == Word::CommandOnExpression
             ? at + typed.name.size()
             : line.npos;
}

}  // namespace

bool goes_on(std::string_view text, BlockEnd end) {
  const Scan found = Scanner(text).scan();
  if (found.brackets < 0) {
    return false;  // an error, wherever it ends
  }
  if (found.brackets > 0 || found.in_string || found.continued) {
    return true;
  }
  return end == BlockEnd::EmptyLine ? found.is_block && !found.ends_with_blank
                                    : found.opens;
}

std::string without_indentation(std::string_view text) {
  std::string_view common;
  bool any = false;
  const auto lines = split(text, '\n');
  for (const std::string_view line : lines) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos) {
      continue;
    }
    const std::string_view own = line.substr(0, begin);
    if (!std::exchange(any, true)) {
      common = own;
    }
    const auto [a, b] = std::ranges::mismatch(common, own);
    common = common.substr(0, static_cast<std::size_t>(a - common.begin()));
  }
  std::string out;
  for (const std::string_view line : lines) {
    out += line.starts_with(common) ? line.substr(common.size()) : trim(line);
    out += '\n';
  }
  out.pop_back();
  return out;
}

std::optional<std::string> Statement::add(std::string_view line,
                                          Source source,
                                          Kind kind) {
  line = line.substr(0, line.find_last_not_of("\r\n") + 1);
  if (!begun_) {
    python_at_ = kind == Kind::Python ? 0 : begin_of_python(line);
  }
  text_ += begun_ ? "\n" : "";
  text_ += line;
  pasted_ = (begun_ && pasted_) || source != Source::Typed;
  begun_ = true;
  const std::string_view python =
      std::string_view(text_).substr(std::min(python_at_, text_.size()));
  if (source == Source::PasteGoesOn ||
      goes_on(python, pasted_ ? BlockEnd::HereIfWhole : BlockEnd::EmptyLine)) {
    return std::nullopt;
  }
  begun_ = false;
  return std::exchange(text_, {});
}

std::optional<std::string> Statement::take_rest() {
  if (!std::exchange(begun_, false)) {
    return std::nullopt;
  }
  return std::exchange(text_, {});
}

void Statement::drop() {
  begun_ = false;
  pasted_ = false;
  text_.clear();
}

}  // namespace hangdbg
