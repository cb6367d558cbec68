// The agent could not be loaded or called: sent by the bootstrap's C in place
// of the answer that there will not be.
#pragma once

#include <string>
#include <string_view>

namespace hangdbg::dap {

struct Failure {
  static constexpr std::string_view event = "hangdbg/failure";

  struct Body {
    std::string reason;  // the exception's text

    template <class V>
    void fields(V& v) {
      v("reason", reason);
    }
  };
};

}  // namespace hangdbg::dap
