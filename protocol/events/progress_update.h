// How far something long is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct ProgressUpdate {
  static constexpr std::string_view event = "progressUpdate";

  struct Body {
    std::string progress_id;
    std::optional<std::string> message;
    std::optional<double> percentage;

    template <class V>
    void fields(V& v) {
      v("progressId", progress_id);
      v("message", message);
      v("percentage", percentage);
    }
  };
};

}  // namespace hangdbg::dap
