#include "client/terminal/wrap.h"

#include "base/text.h"

namespace hangdbg {

std::string wrap_words(const std::string& text,
                       std::size_t columns,
                       std::size_t indent,
                       std::size_t first) {
  std::string wrapped;
  std::size_t used = 0;
  bool begins = true;
  for (const std::string_view word : split_words(text)) {
    const std::size_t length = to_utf32(word).size();
    if (begins) {
      wrapped += std::string(first, ' ');
      used = first;
    } else if (used + 1 + length > columns) {
      wrapped += "\n" + std::string(indent, ' ');
      used = indent;
    } else {
      wrapped += ' ';
      ++used;
    }
    begins = false;
    wrapped += word;
    used += length;
  }
  return wrapped;
}

std::string wrap_words(const std::string& text,
                       std::size_t columns,
                       std::size_t indent) {
  return wrap_words(text, columns, indent, indent);
}

}  // namespace hangdbg
