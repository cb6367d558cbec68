// An exception, with those that it was raised from.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hangdbg::dap {

struct ExceptionDetails {
  std::optional<std::string> message;
  std::optional<std::string> type_name;
  std::optional<std::string> full_type_name;
  std::optional<std::string> evaluate_name;
  std::optional<std::string> stack_trace;
  std::optional<std::vector<ExceptionDetails>> inner_exception;

  template <class V>
  void fields(V& v) {
    v("message", message);
    v("typeName", type_name);
    v("fullTypeName", full_type_name);
    v("evaluateName", evaluate_name);
    v("stackTrace", stack_trace);
    v("innerException", inner_exception);
  }
};

}  // namespace hangdbg::dap
