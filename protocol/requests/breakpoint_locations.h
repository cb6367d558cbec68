// Where in a range of lines a breakpoint can be.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/breakpoint.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct BreakpointLocations {
  static constexpr std::string_view command = "breakpointLocations";

  struct Arguments {
    Source source;
    std::int64_t line = 0;
    std::optional<std::int64_t> column;
    std::optional<std::int64_t> end_line;
    std::optional<std::int64_t> end_column;

    template <class V>
    void fields(V& v) {
      v("source", source);
      v("line", line);
      v("column", column);
      v("endLine", end_line);
      v("endColumn", end_column);
    }
  };

  struct Body {
    std::vector<BreakpointLocation> breakpoints;

    template <class V>
    void fields(V& v) {
      v("breakpoints", breakpoints);
    }
  };
};

}  // namespace hangdbg::dap
