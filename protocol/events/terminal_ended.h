// `hangdbg attach` has ended, and all that it printed has come.
#pragma once

#include <cstdint>
#include <string_view>

namespace hangdbg::dap {

struct TerminalEnded {
  static constexpr std::string_view event = "hangdbg/ended";

  struct Body {
    std::int64_t exit_code = 0;  // as a shell counts

    template <class V>
    void fields(V& v) {
      v("exitCode", exit_code);
    }
  };
};

}  // namespace hangdbg::dap
