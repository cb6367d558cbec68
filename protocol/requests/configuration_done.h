// The client has set all its breakpoints: the program may continue.
#pragma once

#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct ConfigurationDone {
  static constexpr std::string_view command = "configurationDone";

  using Arguments = Nothing;

  using Body = Nothing;
};

}  // namespace hangdbg::dap
