// What the client knows is no longer so, and worth asking again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg::dap {

struct Invalidated {
  static constexpr std::string_view event = "invalidated";

  struct Body {
    // "all", "stacks", "threads", "variables"
    std::optional<std::vector<std::string>> areas;
    std::optional<std::int64_t> thread_id;
    std::optional<std::int64_t> stack_frame_id;

    template <class V>
    void fields(V& v) {
      v("areas", areas);
      v("threadId", thread_id);
      v("stackFrameId", stack_frame_id);
    }
  };
};

}  // namespace hangdbg::dap
