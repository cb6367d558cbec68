// To where the function returns to.
#pragma once

#include <string_view>

#include "protocol/step.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct StepOut {
  static constexpr std::string_view command = "stepOut";

  using Arguments = StepArguments;

  using Body = Nothing;
};

}  // namespace hangdbg::dap
