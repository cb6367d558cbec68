// The program has ended.
#pragma once

#include <cstdint>
#include <string_view>

namespace hangdbg::dap {

struct Exited {
  static constexpr std::string_view event = "exited";

  struct Body {
    std::int64_t exit_code = 0;

    template <class V>
    void fields(V& v) {
      v("exitCode", exit_code);
    }
  };
};

}  // namespace hangdbg::dap
