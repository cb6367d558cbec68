// Text and bytes as repr() quotes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hangdbg {

// "'it\n'": in double quotes where that saves a backslash. What Python holds
// to be unprintable is escaped, as far as no table of all characters is needed.
std::string python_quoted(std::u32string_view text);

// "b'\x00a'".
std::string python_quoted(std::span<const std::byte> bytes);

// " … 12 more" where less than `size` of them are shown; else nothing.
std::string rest_of(std::uint64_t size, std::size_t shown);

}  // namespace hangdbg
