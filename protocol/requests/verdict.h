// What `hangdbg ps` and `hangdbg diagnose` say of the target: whether it is
// stuck, blocked, polls, rests or runs, and why.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Verdict {
  static constexpr std::string_view command = "hangdbg/verdict";

  using Arguments = Nothing;

  struct Body {
    std::string state;  // "stuck"
    // It has not got on for long, and not by design.
    bool stalled = false;
    std::string cause;       // "deadlock"
    std::string confidence;  // "certain"
    std::string summary;
    std::optional<double> waiting_s;
    std::vector<std::string> evidence;

    template <class V>
    void fields(V& v) {
      v("state", state);
      v("stalled", stalled);
      v("cause", cause);
      v("confidence", confidence);
      v("summary", summary);
      v("waitingSeconds", waiting_s);
      v("evidence", evidence);
    }
  };
};

}  // namespace hangdbg::dap
