// What the program or an evaluation printed, or what we have to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Output {
  static constexpr std::string_view event = "output";

  struct Body {
    // "stdout", "stderr", "important"; absent: "console"
    std::optional<std::string> category;
    std::string output;
    std::optional<std::int64_t> variables_reference;
    std::optional<Source> source;
    std::optional<std::int64_t> line;

    template <class V>
    void fields(V& v) {
      v("category", category);
      v("output", output);
      v("variablesReference", variables_reference);
      v("source", source);
      v("line", line);
    }
  };
};

}  // namespace hangdbg::dap
