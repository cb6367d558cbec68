// A frame's scopes; the first is Locals, with the lines of its function.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/variable.h"

namespace hangdbg::dap {

struct Scopes {
  static constexpr std::string_view command = "scopes";

  struct Arguments {
    std::int64_t frame_id = 0;

    template <class V>
    void fields(V& v) {
      v("frameId", frame_id);
    }
  };

  struct Body {
    std::vector<Scope> scopes;

    template <class V>
    void fields(V& v) {
      v("scopes", scopes);
    }
  };
};

}  // namespace hangdbg::dap
