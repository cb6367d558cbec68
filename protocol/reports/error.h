// Why there is no answer: what a command writes with --json, and what is read
// of each rank's answer and of another machine's dump.
#pragma once

#include <optional>
#include <string>

namespace hangdbg::reports {

struct ReportedError {
  std::string type;  // an ErrorId's name; of `eval` also an exception's
  std::string message;
  std::optional<std::string> hint = {};

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
