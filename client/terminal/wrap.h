// Text for people, broken between words.
#pragma once

#include <cstddef>
#include <string>

namespace hangdbg {

// In lines of at most `columns`, but for a word that is longer; each begins
// with `indent` blanks, the first one with `first`.
std::string wrap_words(const std::string& text,
                       std::size_t columns,
                       std::size_t indent,
                       std::size_t first);
std::string wrap_words(const std::string& text,
                       std::size_t columns,
                       std::size_t indent);

}  // namespace hangdbg
