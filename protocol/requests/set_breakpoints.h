// All breakpoints of one source: they replace those that it had.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "protocol/breakpoint.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct SetBreakpoints {
  static constexpr std::string_view command = "setBreakpoints";

  struct Arguments {
    Source source;
    std::optional<std::vector<SourceBreakpoint>> breakpoints;
    std::optional<bool> source_modified;

    template <class V>
    void fields(V& v) {
      v("source", source);
      v("breakpoints", breakpoints);
      v("sourceModified", source_modified);
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
