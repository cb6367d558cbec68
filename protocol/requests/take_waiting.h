// The threads that wait for a debugger (python/hangdbg) stand for this client,
// and so do those that come to wait later.
#pragma once

#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct TakeWaiting {
  static constexpr std::string_view command = "hangdbg/takeWaiting";

  using Arguments = Nothing;
  using Body = Nothing;
};

}  // namespace hangdbg::dap
