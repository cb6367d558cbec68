// What the word before the cursor may become. Runs no code of the target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg::dap {

struct Completions {
  static constexpr std::string_view command = "completions";

  struct Arguments {
    std::string text;
    std::int64_t column = 0;           // of the cursor in its line, 1-based
    std::optional<std::int64_t> line;  // of text, 1-based; absent: the first
    std::optional<std::int64_t> frame_id;

    template <class V>
    void fields(V& v) {
      v("text", text);
      v("column", column);
      v("line", line);
      v("frameId", frame_id);
    }
  };

  struct Item {
    std::string label;
    std::optional<std::string> type;     // "property", "method", "class", ...
    std::optional<std::int64_t> start;   // in its line, of what it replaces
    std::optional<std::int64_t> length;  // of what it replaces

    template <class V>
    void fields(V& v) {
      v("label", label);
      v("type", type);
      v("start", start);
      v("length", length);
    }
  };

  struct Body {
    std::vector<Item> targets;

    template <class V>
    void fields(V& v) {
      v("targets", targets);
    }
  };
};

}  // namespace hangdbg::dap
