// How long threads may be suspended for this session: from now on, or from when
// the first is. Then they resume by themselves, and the event `continued` says
// so; also while we do nothing, and after our death.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Limit {
  static constexpr std::string_view command = "hangdbg/limit";

  struct Arguments {
    std::int64_t milliseconds = 0;  // 0: for ever

    template <class V>
    void fields(V& v) {
      v("milliseconds", milliseconds);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
