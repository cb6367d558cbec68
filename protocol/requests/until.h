// To a line of the same function with at least that number, or to its caller;
// or to where an expression changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Until {
  static constexpr std::string_view command = "hangdbg/until";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::int64_t line = 0;
    std::optional<bool> events;  // see StepArguments
    // To where this is another than now, in place of a line; in which frame,
    // the outermost is 1.
    std::optional<std::string> watch;
    std::optional<std::int64_t> frame;

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("line", line);
      v("hangdbg/events", events);
      v("hangdbg/watch", watch);
      v("hangdbg/frame", frame);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
