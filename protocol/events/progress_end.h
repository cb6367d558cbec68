// Something long is done.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct ProgressEnd {
  static constexpr std::string_view event = "progressEnd";

  struct Body {
    std::string progress_id;
    std::optional<std::string> message;

    template <class V>
    void fields(V& v) {
      v("progressId", progress_id);
      v("message", message);
    }
  };
};

}  // namespace hangdbg::dap
