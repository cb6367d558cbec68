// A place in the agent for a thread that the injector is about to send there
// (injector/hold.h). The thread reports its stop by the event `stopped`.
#pragma once

#include <cstdint>
#include <string_view>

namespace hangdbg::dap {

struct Hold {
  static constexpr std::string_view command = "hangdbg/hold";

  struct Arguments {
    std::int64_t thread_id = 0;

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
    }
  };

  struct Body {
    std::int64_t number = 0;
    std::int64_t held = 0;  // addresses in the target
    std::int64_t entry = 0;

    template <class V>
    void fields(V& v) {
      v("number", number);
      v("held", held);
      v("entry", entry);
    }
  };
};

}  // namespace hangdbg::dap
