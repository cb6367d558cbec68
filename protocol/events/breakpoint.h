// A breakpoint has changed after it was set: verified now, moved, gone.
#pragma once

#include <string>
#include <string_view>

#include "protocol/breakpoint.h"

namespace hangdbg::dap {

struct BreakpointEvent {
  static constexpr std::string_view event = "breakpoint";

  struct Body {
    std::string reason;  // "changed", "new" or "removed"
    Breakpoint breakpoint;

    template <class V>
    void fields(V& v) {
      v("reason", reason);
      v("breakpoint", breakpoint);
    }
  };
};

}  // namespace hangdbg::dap
