// x[key], x[1:2] and len(x), of the interpreter's own containers and text.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "inspector/cpython/expressions/value.h"
#include "inspector/cpython/objects/object_reader.h"

namespace hangdbg {

// Errors of all: ExpressionFailed for what Python would refuse, or must run
// code for; Unreadable.
Result<Value> read_item(const ObjectReader& objects,
                        const Value& of,
                        const Value& index);
Result<Value> read_slice(const ObjectReader& objects,
                         const Value& of,
                         const SlicePart& slice);
Result<Value> read_length(const ObjectReader& objects, const Value& of);

}  // namespace hangdbg
