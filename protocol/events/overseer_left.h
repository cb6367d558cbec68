// The session that looked after this one has ended
// (protocol/requests/oversee.h).
#pragma once

#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct OverseerLeft {
  static constexpr std::string_view event = "hangdbg/overseerLeft";

  using Body = Nothing;
};

}  // namespace hangdbg::dap
