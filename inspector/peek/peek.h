// A name, and what hangs on it, read from a frame's memory: the answer to
// `hangdbg peek`. Nothing runs in the target.
#pragma once

#include <string>

#include "base/result.h"
#include "inspector/objects/heap.h"
#include "inspector/objects/repr.h"
#include "inspector/peek/expression.h"
#include "inspector/python_stack.h"

namespace hangdbg {

struct Peeked {
  std::string type;
  std::string text;
};

// The heap says how much may be read for it (allow_reads).
// Errors: ExpressionFailed, "NameError: ...", as the expression would raise,
// or where it would have to run code (the hint is kEvalHint then); Usage for
// what peek does not compute; Unreadable, also when the function has returned.
Result<Peeked> peek(const Heap& heap,
                    const PythonFrame& frame,
                    const Expression& expression,
                    const ReprLimits& limits);

}  // namespace hangdbg
