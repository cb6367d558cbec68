// A name, and what can be reached from it, read from a frame's memory: the
// answer to `hangdbg peek`. Nothing runs in the target.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "inspector/cpython/expressions/expression.h"
#include "inspector/cpython/expressions/value.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/objects/repr.h"
#include "inspector/cpython/stacks/python_stack.h"

namespace hangdbg {

// To be allowed to the objects, so that a dict of a million keys is searched to
// its end.
constexpr std::uint64_t kReadsOfASearch = 30'000'000;

// For one value that the user requested.
constexpr ReprLimits kFullRepr{.depth = 3,
                               .items = 100,
                               .text = 10'000,
                               .characters = 100'000};

struct Peeked {
  std::string type;
  std::string text;
};

// The value of the expression. Errors: as peek().
Result<Value> evaluate(const ObjectReader& objects,
                       const PythonFrame& frame,
                       const Expression& expression);

// Errors: ExpressionFailed, "NameError: ...", as the expression would raise,
// or where it would have to run code (the hint is kEvalHint then); Usage for
// what peek does not compute; Unreadable, also when the function has returned.
Result<Peeked> peek(const ObjectReader& objects,
                    const PythonFrame& frame,
                    const Expression& expression,
                    const ReprLimits& limits);

}  // namespace hangdbg
