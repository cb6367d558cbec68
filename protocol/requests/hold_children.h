// Processes that the program starts from now on wait, until the session ends or
// says otherwise, for an editor's session of their own (agent/spawning.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct HoldChildren {
  static constexpr std::string_view command = "hangdbg/holdChildren";

  struct Arguments {
    std::string starters;  // what stands for fork, exec and posix_spawn
    std::string text;      // what they run
    std::string package;   // of the package hangdbg, for those that are forked
    std::int64_t patience = 0;  // seconds; 0: they do not wait any more
    std::int64_t debugger = 0;  // our process; 0 if the program cannot see it

    template <class V>
    void fields(V& v) {
      v("starters", starters);
      v("text", text);
      v("package", package);
      v("patience", patience);
      v("debugger", debugger);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
