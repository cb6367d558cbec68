// What is in a scope or a value. `filter`, `start` and `count` page through
// what is indexed, the elements, or named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/variable.h"

namespace hangdbg::dap {

struct Variables {
  static constexpr std::string_view command = "variables";

  struct Arguments {
    std::int64_t variables_reference = 0;
    std::optional<std::string> filter;  // "indexed" or "named"
    std::optional<std::int64_t> start;
    std::optional<std::int64_t> count;  // 0 or absent: all
    std::optional<ValueFormat> format;

    template <class V>
    void fields(V& v) {
      v("variablesReference", variables_reference);
      v("filter", filter);
      v("start", start);
      v("count", count);
      v("format", format);
    }
  };

  struct Body {
    std::vector<Variable> variables;

    template <class V>
    void fields(V& v) {
      v("variables", variables);
    }
  };
};

}  // namespace hangdbg::dap
