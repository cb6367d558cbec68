// Where goto may go to, at a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct GotoTarget {
  std::int64_t id = 0;
  std::string label;
  std::int64_t line = 0;
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

struct GotoTargets {
  static constexpr std::string_view command = "gotoTargets";

  struct Arguments {
    Source source;
    std::int64_t line = 0;
    std::optional<std::int64_t> column;

    template <class V>
    void fields(V& v) {
      v("source", source);
      v("line", line);
      v("column", column);
    }
  };

  struct Body {
    std::vector<GotoTarget> targets;

    template <class V>
    void fields(V& v) {
      v("targets", targets);
    }
  };
};

}  // namespace hangdbg::dap
