// A thread that runs is stopped at its next line, whichever that is; it says so
// by the event `stopped`.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Halt {
  static constexpr std::string_view command = "hangdbg/halt";

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
