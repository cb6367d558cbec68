// What `hangdbg attach` prints for a user of another machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct TerminalOutput {
  static constexpr std::string_view event = "hangdbg/output";

  struct Body {
    std::optional<std::string> category;  // "stderr"; of a screen, nothing
    std::string data;                     // bytes, as base64

    template <class V>
    void fields(V& v) {
      v("category", category);
      v("data", data);
    }
  };
};

}  // namespace hangdbg::dap
