// The exception that a thread was stopped for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/exception_details.h"

namespace hangdbg::dap {

struct ExceptionInfo {
  static constexpr std::string_view command = "exceptionInfo";

  struct Arguments {
    std::int64_t thread_id = 0;

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
    }
  };

  struct Body {
    std::string exception_id;
    std::optional<std::string> description;
    // "never", "always", "unhandled" or "userUnhandled"
    std::string break_mode;
    std::optional<ExceptionDetails> details;

    template <class V>
    void fields(V& v) {
      v("exceptionId", exception_id);
      v("description", description);
      v("breakMode", break_mode);
      v("details", details);
    }
  };
};

}  // namespace hangdbg::dap
