// All breakpoints on functions: they replace those that there were.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/breakpoint.h"

namespace hangdbg::dap {

struct SetFunctionBreakpoints {
  static constexpr std::string_view command = "setFunctionBreakpoints";

  struct Arguments {
    std::vector<FunctionBreakpoint> breakpoints;

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
