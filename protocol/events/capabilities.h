// What we can do has changed.
#pragma once

#include <string_view>

#include "protocol/capabilities.h"

namespace hangdbg::dap {

struct CapabilitiesEvent {
  static constexpr std::string_view event = "capabilities";

  struct Body {
    Capabilities capabilities;

    template <class V>
    void fields(V& v) {
      v("capabilities", capabilities);
    }
  };
};

}  // namespace hangdbg::dap
