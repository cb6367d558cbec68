// x[key], x[1:2] and len(x), of the interpreter's own containers and text.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "inspector/cpython/expressions/value.h"
#include "inspector/cpython/objects/heap.h"

namespace hangdbg {

// Errors of all: ExpressionFailed for what Python would refuse, or must run
// code for; Unreadable.
Result<Value> read_item(const Heap& heap, const Value& of, const Value& index);
Result<Value> read_slice(const Heap& heap,
                         const Value& of,
                         const SlicePart& slice);
Result<Value> read_length(const Heap& heap, const Value& of);

}  // namespace hangdbg
