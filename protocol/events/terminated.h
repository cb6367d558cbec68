// The session is over.
#pragma once

#include <string_view>

#include "protocol/json.h"

namespace hangdbg::dap {

struct Terminated {
  static constexpr std::string_view event = "terminated";

  struct Body {
    Json restart;

    template <class V>
    void fields(V& v) {
      v("restart", restart);
    }
  };
};

}  // namespace hangdbg::dap
