// The value of an expression while peek follows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "inspector/cpython/expressions/expression.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// Of a tuple, list or deque: objects that lie in no container of their own.
struct SliceOf {
  Kind kind;
  Items items;
};

// What an object is asked that lies in memory otherwise than as an object.
struct Told {
  std::string type;
  std::string text;
};

using Value = std::variant<Address, Scalar, SliceOf, Told>;

// "-12"
Scalar integer(std::string decimal);

// What can be compared in that object; none, if it is no number, text or None.
// Errors: Unreadable.
Result<std::optional<Scalar>> scalar_of(const ObjectReader& objects,
                                        Address object);
Result<std::optional<Scalar>> scalar_of(const ObjectReader& objects,
                                        const Value& value);

// "'int' object": as Python's messages name what they are about.
Result<std::string> describe(const ObjectReader& objects, const Value& value);

// The expression itself is wrong: "KeyError: 'a'".
std::unexpected<Error> raised(std::string_view type,
                              const std::string& message);

// It would have to run code of the program.
std::unexpected<Error> runs_code(const std::string& what);

}  // namespace hangdbg
