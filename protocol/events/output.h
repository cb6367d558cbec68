// What the evaluated code printed.
#pragma once

#include <string>
#include <string_view>

namespace hangdbg::dap {

struct Output {
  static constexpr std::string_view event = "output";

  struct Body {
    std::string category;  // "stdout" or "stderr"
    std::string output;

    template <class V>
    void fields(V& v) {
      v("category", category);
      v("output", output);
    }
  };
};

}  // namespace hangdbg::dap
