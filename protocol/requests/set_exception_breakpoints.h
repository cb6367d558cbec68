// Which exceptions to stop at: replaces what was set.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/breakpoint.h"

namespace hangdbg::dap {

struct SetExceptionBreakpoints {
  static constexpr std::string_view command = "setExceptionBreakpoints";

  struct Arguments {
    std::vector<std::string> filters;
    std::optional<std::vector<ExceptionFilterOptions>> filter_options;
    std::optional<std::vector<ExceptionOptions>> exception_options;

    template <class V>
    void fields(V& v) {
      v("filters", filters);
      v("filterOptions", filter_options);
      v("exceptionOptions", exception_options);
    }
  };

  struct Body {
    std::optional<std::vector<Breakpoint>>
        breakpoints;  // filters' first, then the options'

    template <class V>
    void fields(V& v) {
      v("breakpoints", breakpoints);
    }
  };
};

}  // namespace hangdbg::dap
