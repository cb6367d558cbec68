// A module was loaded, changed or removed.
#pragma once

#include <string>
#include <string_view>

#include "protocol/module.h"

namespace hangdbg::dap {

struct ModuleEvent {
  static constexpr std::string_view event = "module";

  struct Body {
    std::string reason;  // "new", "changed" or "removed"
    Module module;

    template <class V>
    void fields(V& v) {
      v("reason", reason);
      v("module", module);
    }
  };
};

}  // namespace hangdbg::dap
