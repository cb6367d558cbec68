// How many threads are suspended for the sessions that this one coordinates,
// and how many of their breakpoints wait for it
// (protocol/requests/coordinate.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace hangdbg::dap {

struct Suspended {
  static constexpr std::string_view event = "hangdbg/suspended";

  struct Body {
    std::int64_t number = 0;  // of this count: a lower one is older
    std::int64_t threads = 0;
    std::int64_t waiting = 0;  // breakpoints

    template <class V>
    void fields(V& v) {
      v("number", number);
      v("threads", threads);
      v("waiting", waiting);
    }
  };
};

}  // namespace hangdbg::dap
