// A frame of a thread's stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/types.h"

namespace hangdbg::dap {

// What DAP has no word for in a StackFrame.
struct FrameDetail {
  std::string qualname;
  std::string module;
  std::int64_t first_line = 0;  // of the function

  template <class V>
  void fields(V& v) {
    v("qualname", qualname);
    v("module", module);
    v("firstLine", first_line);
  }
};

struct StackFrame {
  std::int64_t id = 0;
  std::string name;  // the plain function name
  std::optional<Source> source;
  std::int64_t line = 0;    // 1-based; 0: unknown
  std::int64_t column = 0;  // 1-based; 0: unknown
  std::optional<std::int64_t> end_line;
  std::optional<std::int64_t> end_column;
  std::optional<bool> can_restart;
  // "normal", "label" or "subtle"
  std::optional<std::string> presentation_hint;
  std::optional<FrameDetail> hangdbg;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("name", name);
    v("source", source);
    v("line", line);
    v("column", column);
    v("endLine", end_line);
    v("endColumn", end_column);
    v("canRestart", can_restart);
    v("presentationHint", presentation_hint);
    v("hangdbg", hangdbg);
  }
};

}  // namespace hangdbg::dap
