// The last request of a session.
#pragma once

#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Disconnect {
  static constexpr std::string_view command = "disconnect";

  using Arguments = Nothing;
  using Body = Nothing;
};

}  // namespace hangdbg::dap
