// Something long begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct ProgressStart {
  static constexpr std::string_view event = "progressStart";

  struct Body {
    std::string progress_id;
    std::string title;
    std::optional<std::int64_t> request_id;
    std::optional<bool> cancellable;
    std::optional<std::string> message;
    std::optional<double> percentage;

    template <class V>
    void fields(V& v) {
      v("progressId", progress_id);
      v("title", title);
      v("requestId", request_id);
      v("cancellable", cancellable);
      v("message", message);
      v("percentage", percentage);
    }
  };
};

}  // namespace hangdbg::dap
