// Makes a thread continue at another line of its function.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Goto {
  static constexpr std::string_view command = "goto";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::int64_t target_id = 0;  // of gotoTargets

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("targetId", target_id);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
