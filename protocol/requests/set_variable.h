// Gives a variable of a scope or value another value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/variable.h"

namespace hangdbg::dap {

struct SetVariable {
  static constexpr std::string_view command = "setVariable";

  struct Arguments {
    std::int64_t variables_reference = 0;  // of what it is in
    std::string name;
    std::string value;  // an expression

    template <class V>
    void fields(V& v) {
      v("variablesReference", variables_reference);
      v("name", name);
      v("value", value);
    }
  };

  struct Body {
    std::string value;
    std::optional<std::string> type;
    std::int64_t variables_reference = 0;  // 0: cannot be expanded
    std::optional<std::int64_t> named_variables;
    std::optional<std::int64_t> indexed_variables;
    std::optional<ValueDetail> hangdbg;

    template <class V>
    void fields(V& v) {
      v("value", value);
      v("type", type);
      v("variablesReference", variables_reference);
      v("namedVariables", named_variables);
      v("indexedVariables", indexed_variables);
      v("hangdbg", hangdbg);
    }
  };
};

}  // namespace hangdbg::dap
