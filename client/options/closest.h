// The word that was probably meant, among those that exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hangdbg {

// Letters that are left out, added, changed or swapped with their neighbour,
// to get from one word to the other.
std::size_t edits_between(std::string_view one, std::string_view other);

// The candidate with the fewest edits, at most one for every three letters
// typed (of a short word: one); else the only one that begins with what was
// typed. Of several that are equally close, the first.
std::optional<std::string> closest(std::string_view typed,
                                   std::span<const std::string> candidates);

}  // namespace hangdbg
