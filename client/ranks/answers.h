// A question to many ranks (`eval`, `peek`): the answer of each, equal answers
// in one line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/options/expression_args.h"

namespace hangdbg {

// `command`: "eval" or "peek". The exit code.
Result<int> ask_ranks(const char* command, const Question& question);

}  // namespace hangdbg
