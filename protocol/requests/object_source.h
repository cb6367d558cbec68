// Where a function, method, class, module or code object is defined, as pdb's
// `source` asks. (DAP's own `source` asks for a file's text.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct ObjectSource {
  static constexpr std::string_view command = "hangdbg/source";

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
    std::string path;
    std::int64_t line = 0;      // 1-based
    std::int64_t end_line = 0;  // 1-based, inclusive

    template <class V>
    void fields(V& v) {
      v("path", path);
      v("line", line);
      v("endLine", end_line);
    }
  };
};

}  // namespace hangdbg::dap
