// What the person types. Answered when it has been taken; none at all is the
// end of the input.
#pragma once

#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct TerminalInput {
  static constexpr std::string_view command = "hangdbg/input";

  struct Arguments {
    std::string data;  // bytes, as base64

    template <class V>
    void fields(V& v) {
      v("data", data);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
