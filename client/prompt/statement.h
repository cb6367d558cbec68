// A statement that is typed or pasted over several lines, until it is whole.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hangdbg {

// How a block ends: typed, at an empty line; pasted, where the text ends.
enum class BlockEnd { EmptyLine, HereIfWhole };

// Whether more lines belong to the Python of `text`: a bracket or a string is
// open, its last line ends with a backslash, or it is a block that has not
// ended.
bool goes_on(std::string_view text, BlockEnd end);

// Without the indentation that all its lines have.
std::string without_indentation(std::string_view text);

class Statement {
 public:
  enum class Source { Typed, Pasted, PasteGoesOn };
  enum class Kind { Commands, Python };

  // The whole text with the line, if it is whole.
  std::optional<std::string> add(std::string_view line,
                                 Source source,
                                 Kind kind);
  bool is_begun() const { return begun_; }
  bool is_pasted() const { return pasted_; }  // of what add() has returned, too
  // What there is of it, at the end of the input.
  std::optional<std::string> take_rest();
  void drop();

 private:
  bool begun_ = false;
  bool pasted_ = false;
  std::size_t python_at_ = 0;  // in the text
  std::string text_;
};

}  // namespace hangdbg
