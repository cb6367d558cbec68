// Reverse: asks the client to open another session, for a rank or a child
// process.
#pragma once

#include <string>
#include <string_view>

#include "protocol/json.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct StartDebugging {
  static constexpr std::string_view command = "startDebugging";

  struct Arguments {
    std::string request;  // "attach" or "launch"
    Json configuration;

    template <class V>
    void fields(V& v) {
      v("request", request);
      v("configuration", configuration);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
