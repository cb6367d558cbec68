// The last request of a session.
#pragma once

#include <optional>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Disconnect {
  static constexpr std::string_view command = "disconnect";

  struct Arguments {
    std::optional<bool> restart;
    std::optional<bool> terminate_debuggee;
    std::optional<bool> suspend_debuggee;  // leave threads as they are held

    template <class V>
    void fields(V& v) {
      v("restart", restart);
      v("terminateDebuggee", terminate_debuggee);
      v("suspendDebuggee", suspend_debuggee);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
