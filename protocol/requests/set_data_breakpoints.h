// All data breakpoints: they replace those that there were.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/breakpoint.h"

namespace hangdbg::dap {

struct SetDataBreakpoints {
  static constexpr std::string_view command = "setDataBreakpoints";

  struct Arguments {
    std::vector<DataBreakpoint> breakpoints;

    template <class V>
    void fields(V& v) {
      v("breakpoints", breakpoints);
    }
  };

  struct Body {
    std::vector<Breakpoint> breakpoints;  // in the order of the arguments'

    template <class V>
    void fields(V& v) {
      v("breakpoints", breakpoints);
    }
  };
};

}  // namespace hangdbg::dap
