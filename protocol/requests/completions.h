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
    std::int64_t column = 0;  // 1-based, in UTF-16 units, of the cursor
    std::optional<std::int64_t> line;  // its line in text, 1-based; default 1
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
    std::optional<std::string> type;  // "property", "method", "class", ...
    // Of what it replaces: 0-based in text, in UTF-16 units.
    std::optional<std::int64_t> start;
    std::optional<std::int64_t> length;

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
