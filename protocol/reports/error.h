// Why there is no answer: what a command writes with --json, and what is read
// of each rank's answer and of another machine's dump.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hangdbg {

// With kNodeVariable set, which a node sets for the command that it runs, its
// standard error ends with this, the error's name, and a line end, if there is
// an error. Text from anywhere else comes escaped there.
constexpr std::string_view kErrorMark = "\x1e";
constexpr const char* kNodeVariable = "HANGDBG_NODE";

}  // namespace hangdbg

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
