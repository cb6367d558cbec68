// The expressions that peek understands: a small part of Python's, and no part
// of it that would have to run code.
//
//   comparison:  chain [(== | != | < | <= | > | >= | is [not] | [not] in)
//   chain] chain:       (NAME | literal | len(comparison) | (comparison))
//   trailer* trailer:     .NAME | [comparison] | [start:stop:step]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct Integer {
  std::string decimal;  // "-12"
  bool operator==(const Integer&) const = default;
};

using Bytes = std::vector<std::byte>;

// What a literal can say, and what can be compared: None is the first.
using Scalar =
    std::variant<std::monostate, bool, Integer, double, std::u32string, Bytes>;

struct Expression;
using Part = std::unique_ptr<Expression>;

struct NamePart {
  std::string name;
};
struct AttributePart {
  Part of;
  std::string name;
};
struct ItemPart {
  Part of;
  Part index;
};
struct SlicePart {
  Part of;
  std::optional<std::int64_t> start, stop, step;
};
struct LengthPart {
  Part of;
};

enum class Comparing {
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  Is,
  IsNot,
  In,
  NotIn,
};

struct ComparisonPart {
  Part left;
  Comparing how;
  Part right;
};

struct Expression {
  std::variant<Scalar,
               NamePart,
               AttributePart,
               ItemPart,
               SlicePart,
               LengthPart,
               ComparisonPart>
      is;
};

// What to type where peek ends; the caller fills in PID and EXPR.
constexpr const char* kEvalHint = "hangdbg eval PID EXPR";

// Error: Usage, with what it cannot understand.
Result<Expression> parse_expression(std::string_view text);

}  // namespace hangdbg
