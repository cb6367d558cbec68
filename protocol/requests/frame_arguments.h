// What a frame's function was called with: positional, *args, keyword-only,
// **kwargs. Values are safe reprs: getting them runs no code of the target.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/variable.h"

namespace hangdbg::dap {

struct FrameArguments {
  static constexpr std::string_view command = "hangdbg/arguments";

  struct Arguments {
    std::int64_t frame_id = 0;

    template <class V>
    void fields(V& v) {
      v("frameId", frame_id);
    }
  };

  struct Body {
    std::vector<Variable> variables;

    template <class V>
    void fields(V& v) {
      v("variables", variables);
    }
  };
};

}  // namespace hangdbg::dap
