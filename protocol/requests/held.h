// Whether a thread that was to be held is suspended, or is still to arrive.
#pragma once

#include <cstdint>
#include <string_view>

namespace hangdbg::dap {

struct Held {
  static constexpr std::string_view command = "hangdbg/held";

  struct Arguments {
    std::int64_t thread_id = 0;

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
    }
  };

  struct Body {
    bool stands = false;
    bool comes = false;
    bool busy = false;  // with an expression that was given up

    template <class V>
    void fields(V& v) {
      v("stands", stands);
      v("comes", comes);
      v("busy", busy);
    }
  };
};

}  // namespace hangdbg::dap
