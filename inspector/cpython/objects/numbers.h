// Numbers, to the last digit that Python would print.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// As many decimal digits as Python itself is willing to print.
constexpr int kMaxDigits = 4300;

// "-123"; of a longer one how long it is: "<int of 20000 bits>".
// Errors: Unreadable.
Result<std::string> int_text(const ObjectReader& objects, Address object);

// None if it does not fit. Errors: Unreadable.
Result<std::optional<std::int64_t>> int_value(const ObjectReader& objects,
                                              Address object);

// The shortest text that reads back as the same: "0.1", "1e+16", "nan".
std::string float_text(double value);
std::string float_text(float value);
std::string complex_text(double real, double imaginary);

}  // namespace hangdbg
