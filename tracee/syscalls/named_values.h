// NamedValue: a table of names that stand for values, and how an argument is
// told by it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): each by its own name.
#define NAMED(constant) \
  { static_cast<std::uint64_t>(constant), #constant }
#define NUMBERED(number, name) \
  { number, #name }  // which the C library's headers lack, or have otherwise

namespace hangdbg {

// Most arguments are an int; what is above in the register means nothing.
constexpr std::uint64_t kInt = 0xffff'ffff;

struct NamedValue {
  std::uint64_t value = 0;
  std::string_view name;
};

// "O_WRONLY|O_CREAT|0x8000000": those that are known, then the rest. Of none:
// the name of 0, or "0". A value of several bits comes before those of one.
std::string flags_text(std::uint64_t value, std::span<const NamedValue> names);

// "SEEK_END", or the number.
std::string value_text(std::int64_t value, std::span<const NamedValue> names);

// Of what has no name: small ones as they are, others in hexadecimal.
std::string number_text(std::uint64_t value);

// With "|" between.
void append_name(std::string& text, std::string_view name);

}  // namespace hangdbg
