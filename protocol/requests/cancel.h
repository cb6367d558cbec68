// Ends a request that is under way, or whatever reports the progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Cancel {
  static constexpr std::string_view command = "cancel";

  struct Arguments {
    std::optional<std::int64_t> request_id;
    std::optional<std::string> progress_id;

    template <class V>
    void fields(V& v) {
      v("requestId", request_id);
      v("progressId", progress_id);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
