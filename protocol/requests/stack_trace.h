// A thread's Python frames, innermost first.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/stack_frame.h"

namespace hangdbg::dap {

// What an editor wants to have in the names of frames.
struct StackFrameFormat {
  std::optional<bool> module;
  std::optional<bool> line;

  template <class V>
  void fields(V& v) {
    v("module", module);
    v("line", line);
  }
};

struct StackTrace {
  static constexpr std::string_view command = "stackTrace";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::optional<std::int64_t> start_frame;  // 0: the innermost
    std::optional<std::int64_t> levels;       // 0 or absent: all
    std::optional<bool> just_my_code;         // libraries' are `subtle`
    std::optional<StackFrameFormat> format;

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("startFrame", start_frame);
      v("levels", levels);
      v("hangdbg/justMyCode", just_my_code);
      v("format", format);
    }
  };

  struct Body {
    std::vector<StackFrame> stack_frames;
    std::optional<std::int64_t> total_frames;

    template <class V>
    void fields(V& v) {
      v("stackFrames", stack_frames);
      v("totalFrames", total_frames);
    }
  };
};

}  // namespace hangdbg::dap
