// The target's Python threads, main first, without those of the agent.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Threads {
  static constexpr std::string_view command = "threads";

  using Arguments = Nothing;

  struct Body {
    std::vector<Thread> threads;

    template <class V>
    void fields(V& v) {
      v("threads", threads);
    }
  };
};

}  // namespace hangdbg::dap
