// ==, <, is and in, for what peek can compare.
#pragma once

#include "base/result.h"
#include "inspector/cpython/expressions/value.h"
#include "inspector/cpython/objects/object_reader.h"

namespace hangdbg {

// Errors: ExpressionFailed for what Python would refuse, or must run code for;
// Unreadable.
Result<bool> compare(const ObjectReader& objects,
                     const Value& left,
                     Comparing how,
                     const Value& right);

// As keys and items are equal: 1, 1.0 and True are.
bool equal(const Scalar& a, const Scalar& b);

}  // namespace hangdbg
