// We take breakpoints and the rest of the configuration now.
#pragma once

#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Initialized {
  static constexpr std::string_view event = "initialized";

  using Body = Nothing;
};

}  // namespace hangdbg::dap
