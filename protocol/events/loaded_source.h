// A source file was loaded, changed or removed.
#pragma once

#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct LoadedSource {
  static constexpr std::string_view event = "loadedSource";

  struct Body {
    std::string reason;  // "new", "changed" or "removed"
    Source source;

    template <class V>
    void fields(V& v) {
      v("reason", reason);
      v("source", source);
    }
  };
};

}  // namespace hangdbg::dap
