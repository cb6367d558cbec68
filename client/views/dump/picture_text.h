// Text from anywhere in a picture: what XML may hold, and as much of it as
// there is room for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg {

// What printable() makes of it, for XML, which lacks two characters more.
std::string xml_text(std::string_view text);

// How wide it is in a monospaced font.
std::size_t columns(std::string_view text);

// With an ellipsis, if not all of it is there.
std::string cut(std::string_view text, std::size_t most);

// In lines, which end at spaces where they can; set in from the second on.
std::vector<std::string> wrapped(std::string_view text, std::size_t most);

// A page of its own: `title` as it is, the others as HTML, or CSS. Well-formed
// as XML, too, if `body` is.
std::string html_page(std::string_view title,
                      std::string_view style,
                      std::string_view body);

}  // namespace hangdbg
