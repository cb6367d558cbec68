// An expression or statements, run in a frame on the agent's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/variable.h"

namespace hangdbg::dap {

// What DAP has no word for in the answer.
struct EvaluateDetail {
  bool statement = false;      // it was no expression
  bool none = false;           // the value is None: a prompt shows nothing
  std::int64_t truncated = 0;  // characters of the repr left out

  template <class V>
  void fields(V& v) {
    v("statement", statement);
    v("none", none);
    v("truncated", truncated);
  }
};

struct Evaluate {
  static constexpr std::string_view command = "evaluate";

  struct Arguments {
    std::string expression;
    std::optional<std::int64_t> frame_id;  // absent: in __main__
    // "repl", "watch", "hover", ...; absent: the value will not be expanded.
    std::optional<std::string> context;
    std::optional<std::int64_t> pretty;      // width in columns
    std::optional<std::int64_t> repr_limit;  // characters
    std::optional<bool> keep;  // names that it binds, for later sessions
    std::optional<ValueFormat> format;

    template <class V>
    void fields(V& v) {
      v("expression", expression);
      v("frameId", frame_id);
      v("context", context);
      v("hangdbg/pretty", pretty);
      v("hangdbg/limit", repr_limit);
      v("hangdbg/keep", keep);
      v("format", format);
    }
  };

  struct Body {
    std::string result;  // the value's repr
    std::optional<std::string> type;
    std::optional<PresentationHint> presentation_hint;
    std::int64_t variables_reference = 0;  // 0: cannot be expanded
    std::optional<std::int64_t> named_variables;
    std::optional<std::int64_t> indexed_variables;
    std::optional<EvaluateDetail> hangdbg;

    template <class V>
    void fields(V& v) {
      v("result", result);
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
