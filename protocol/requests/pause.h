// Suspends a thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Pause {
  static constexpr std::string_view command = "pause";

  struct Arguments {
    std::int64_t thread_id = 0;

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
