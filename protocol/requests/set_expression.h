// Assigns to an expression, in a frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/variable.h"

namespace hangdbg::dap {

struct SetExpression {
  static constexpr std::string_view command = "setExpression";

  struct Arguments {
    std::string expression;
    std::string value;                     // an expression
    std::optional<std::int64_t> frame_id;  // absent: in __main__

    template <class V>
    void fields(V& v) {
      v("expression", expression);
      v("value", value);
      v("frameId", frame_id);
    }
  };

  struct Body {
    std::string value;
    std::optional<std::string> type;
    std::optional<PresentationHint> presentation_hint;
    std::int64_t variables_reference = 0;  // 0: cannot be expanded
    std::optional<std::int64_t> named_variables;
    std::optional<std::int64_t> indexed_variables;
    std::optional<ValueDetail> hangdbg;

    template <class V>
    void fields(V& v) {
      v("value", value);
      v("type", type);
      v("presentationHint", presentation_hint);
      v("variablesReference", variables_reference);
      v("namedVariables", named_variables);
      v("indexedVariables", indexed_variables);
      v("hangdbg", hangdbg);
    }
  };
};

}  // namespace hangdbg::dap
