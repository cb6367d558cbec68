#include "inspector/cpython/objects/numbers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

namespace hangdbg {
namespace {

// A larger int would not fit into memory.
constexpr std::uint64_t kMaxIntDigits = std::uint64_t{1} << 40;

struct Int {
  std::vector<std::uint32_t> digits;  // the lowest first; of int_digit_bits
  std::uint64_t size = 0;             // of them, also where they were not read
  bool negative = false;
};

// The digits, if there are no more than `most`.
Result<Int> read_int(const ObjectReader& objects,
                     Address object,
                     std::uint64_t most) {
  const ObjectLayout& at = objects.at();
  const auto tag = TRY(objects.word(object + at.int_size));
  Int read;
  if (at.int_size_shift == 0) {
    read.negative = static_cast<std::int64_t>(tag) < 0;
    read.size = read.negative ? -tag : tag;
  } else {
    read.negative = (tag & 3) == 2;  // 0 positive, 1 zero, 2 negative
    read.size = (tag & 3) == 1 ? 0 : tag >> at.int_size_shift;
  }
  if (read.size > kMaxIntDigits) {
    return nothing_at("int", object);
  }
  if (read.size <= most) {
    read.digits.resize(read.size);
    TRY(objects.memory().read(object + at.int_digits,
                              std::as_writable_bytes(std::span(read.digits))));
  }
  return read;
}

// In decimal, by dividing by 10^9 until nothing is left.
std::string decimal(std::vector<std::uint32_t> digits, std::uint32_t bits) {
  constexpr std::uint64_t kPart = 1'000'000'000;
  std::vector<std::uint64_t> parts;
  while (!digits.empty()) {
    std::uint64_t rest = 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
      rest = rest << bits | digits[i];
      digits[i] = static_cast<std::uint32_t>(rest / kPart);
      rest %= kPart;
    }
    parts.push_back(rest);
    while (!digits.empty() && digits.back() == 0) {
      digits.pop_back();
    }
  }
  if (parts.empty()) {
    return "0";
  }
  std::string text = std::to_string(parts.back());
  for (std::size_t i = parts.size() - 1; i-- > 0;) {
    text += fmt::format("{:09}", parts[i]);
  }
  return text;
}

// The shortest digits and the exponent, laid out as repr() does. `point`: an
// integral value gets ".0".
template <class Float>
std::string shortest(Float value, bool point) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                 value, std::chars_format::scientific)
                       .ptr;
  std::string digits(buffer.data(), end);
  const std::size_t e = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + e + 1);
  digits.resize(e);
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", digits, exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  std::erase(digits, '.');
  const std::string sign = digits[0] == '-' ? "-" : "";
  digits.erase(0, sign.size());
  if (exponent < 0) {
    return sign + "0." + std::string(-exponent - 1, '0') + digits;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    digits.resize(whole, '0');
    return sign + digits + (point ? ".0" : "");
  }
  return sign + digits.insert(whole, ".");
}

}  // namespace

Result<std::string> int_text(const ObjectReader& objects, Address object) {
  const std::uint32_t bits = objects.at().int_digit_bits;
  // A decimal digit is 3.32 bits.
  const Int value = TRY(read_int(objects, object, kMaxDigits * 10 / 3 / bits));
  if (value.digits.size() < value.size) {
    return fmt::format("<int of {} bits>", value.size * bits);
  }
  return (value.negative ? "-" : "") + decimal(value.digits, bits);
}

Result<std::optional<std::int64_t>> int_value(const ObjectReader& objects,
                                              Address object) {
  const std::uint32_t bits = objects.at().int_digit_bits;
  const Int read = TRY(read_int(objects, object, 64 / bits + 1));
  if (read.digits.size() < read.size) {
    return std::nullopt;
  }
  __int128 value = 0;
  for (std::size_t i = read.digits.size(); i-- > 0;) {
    value = value << bits | read.digits[i];
  }
  value = read.negative ? -value : value;
  if (value < INT64_MIN || value > INT64_MAX) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

std::string float_text(double value) {
  return shortest(value, true);
}

std::string float_text(float value) {
  return shortest(value, true);
}

std::string complex_text(double real, double imaginary) {
  const std::string second = shortest(imaginary, false) + "j";
  if (real == 0 && !std::signbit(real)) {
    return second;
  }
  return fmt::format("({}{}{})", shortest(real, false),
                     second[0] == '-' ? "" : "+", second);
}

}  // namespace hangdbg
