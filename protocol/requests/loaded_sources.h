// The source files that the program has loaded.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct LoadedSources {
  static constexpr std::string_view command = "loadedSources";

  using Arguments = Nothing;

  struct Body {
    std::vector<Source> sources;

    template <class V>
    void fields(V& v) {
      v("sources", sources);
    }
  };
};

}  // namespace hangdbg::dap
