// Code is run in a thread that is held, and stopped in from its first line on;
// then the thread is held as before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Debug {
  static constexpr std::string_view command = "hangdbg/debug";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::int64_t frame_id = 0;
    std::string expression;  // or statements

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("frameId", frame_id);
      v("expression", expression);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
