// This session joins the one that coordinates the process under that name
// (coordinate.h).
#pragma once

#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Join {
  static constexpr std::string_view command = "hangdbg/join";

  struct Arguments {
    std::string job;

    template <class V>
    void fields(V& v) {
      v("job", job);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
