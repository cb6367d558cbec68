// The calls in a frame's line that one may step into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg::dap {

struct StepInTarget {
  std::int64_t id = 0;
  std::string label;
  std::optional<std::int64_t> line;
  std::optional<std::int64_t> column;
  std::optional<std::int64_t> end_line;
  std::optional<std::int64_t> end_column;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("label", label);
    v("line", line);
    v("column", column);
    v("endLine", end_line);
    v("endColumn", end_column);
  }
};

struct StepInTargets {
  static constexpr std::string_view command = "stepInTargets";

  struct Arguments {
    std::int64_t frame_id = 0;
    std::optional<std::string> text;  // of the frame's file, for the agent

    template <class V>
    void fields(V& v) {
      v("frameId", frame_id);
      v("hangdbg/source", text);
    }
  };

  struct Body {
    std::vector<StepInTarget> targets;

    template <class V>
    void fields(V& v) {
      v("targets", targets);
    }
  };
};

}  // namespace hangdbg::dap
