// To the next line of the same function, or to its caller.
#pragma once

#include <string_view>

#include "protocol/step.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct Next {
  static constexpr std::string_view command = "next";

  using Arguments = StepArguments;

  using Body = Nothing;
};

}  // namespace hangdbg::dap
