// A thread has begun or ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct ThreadEvent {
  static constexpr std::string_view event = "thread";

  struct Body {
    std::string reason;  // "started" or "exited"
    std::int64_t thread_id = 0;

    template <class V>
    void fields(V& v) {
      v("reason", reason);
      v("threadId", thread_id);
    }
  };
};

}  // namespace hangdbg::dap
