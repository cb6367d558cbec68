// To a line of the same function with at least that number, or to its caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Until {
  static constexpr std::string_view command = "hangdbg/until";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::int64_t line = 0;
    std::optional<bool> events;  // see StepArguments

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("line", line);
      v("hangdbg/events", events);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
