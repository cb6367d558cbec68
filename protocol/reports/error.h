// Why there is no answer: what a command writes with --json, and what is read
// of each rank's answer and of another machine's dump.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/shortage.h"
#include "client/terminal/typed.h"

namespace hangdbg::reports {

struct ReportedError {
  std::string type;  // an ErrorId's name; of `eval` also an exception's
  std::string message;
  std::optional<std::string> hint = {};

  static ReportedError of(const Error& noticed) {
    const Error error = with_its_cause(noticed);
    return {error_name(error.id), error.text(), as_typed(error.hint)};
  }

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("message", message);
    v("hint", hint);
  }
};

// All that a command prints with --json if it has no answer.
struct NoAnswer {
  ReportedError error;

  template <class V>
  void fields(V& v) {
    v("error", error);
  }
};

}  // namespace hangdbg::reports
