// Begins a frame's function anew.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct RestartFrame {
  static constexpr std::string_view command = "restartFrame";

  struct Arguments {
    std::int64_t frame_id = 0;

    template <class V>
    void fields(V& v) {
      v("frameId", frame_id);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
