// The threads that wait for a debugger (python/hangdbg) are suspended for this
// client, and so are those that wait later.
#pragma once

#include <optional>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct TakeWaiting {
  static constexpr std::string_view command = "hangdbg/takeWaiting";

  struct Arguments {
    // Whether one that waits before its first line stops at that. Default true.
    std::optional<bool> entry;

    template <class V>
    void fields(V& v) {
      v("entry", entry);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
