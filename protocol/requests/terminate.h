// Asks the program to end.
#pragma once

#include <optional>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Terminate {
  static constexpr std::string_view command = "terminate";

  struct Arguments {
    std::optional<bool> restart;

    template <class V>
    void fields(V& v) {
      v("restart", restart);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
