// More source for the agent, which starts small; it registers its handlers.
#pragma once

#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Load {
  static constexpr std::string_view command = "hangdbg/load";

  struct Arguments {
    std::string name;    // of the file, for tracebacks
    std::string source;  // Python

    template <class V>
    void fields(V& v) {
      v("name", name);
      v("source", source);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
