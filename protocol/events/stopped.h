// A thread is stopped for the user: hung, or suspended by us.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg::dap {

struct Stopped {
  static constexpr std::string_view event = "stopped";

  struct Body {
    std::string reason;  // "pause", "breakpoint", "step", "exception", ...
    std::optional<std::string> description;  // in full, beside the thread
    std::optional<std::int64_t> thread_id;
    std::optional<bool> preserve_focus_hint;
    std::optional<std::string> text;
    std::optional<bool> all_threads_stopped;
    std::optional<std::vector<std::int64_t>> hit_breakpoint_ids;

    template <class V>
    void fields(V& v) {
      v("reason", reason);
      v("description", description);
      v("threadId", thread_id);
      v("preserveFocusHint", preserve_focus_hint);
      v("text", text);
      v("allThreadsStopped", all_threads_stopped);
      v("hitBreakpointIds", hit_breakpoint_ids);
    }
  };
};

}  // namespace hangdbg::dap
