// What kind of thing an expression is, as pdb's `whatis` says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct Whatis {
  static constexpr std::string_view command = "hangdbg/whatis";

  struct Arguments {
    std::string expression;
    std::int64_t frame_id = 0;

    template <class V>
    void fields(V& v) {
      v("expression", expression);
      v("frameId", frame_id);
    }
  };

  struct Body {
    std::string text;

    template <class V>
    void fields(V& v) {
      v("text", text);
    }
  };
};

}  // namespace hangdbg::dap
