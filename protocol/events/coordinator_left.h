// The session that coordinated this one has ended
// (protocol/requests/coordinate.h).
#pragma once

#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct CoordinatorLeft {
  static constexpr std::string_view event = "hangdbg/coordinatorLeft";

  using Body = Nothing;
};

}  // namespace hangdbg::dap
