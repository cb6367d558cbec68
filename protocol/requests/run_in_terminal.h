// Reverse: asks the client to start a program in a terminal of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct RunInTerminal {
  static constexpr std::string_view command = "runInTerminal";

  struct Arguments {
    std::optional<std::string> kind;  // "integrated" or "external"
    std::optional<std::string> title;
    std::string cwd;
    std::vector<std::string> args;
    // null: unset
    std::optional<std::map<std::string, std::optional<std::string>>> env;

    template <class V>
    void fields(V& v) {
      v("kind", kind);
      v("title", title);
      v("cwd", cwd);
      v("args", args);
      v("env", env);
    }
  };

  struct Body {
    std::optional<std::int64_t> process_id;
    std::optional<std::int64_t> shell_process_id;

    template <class V>
    void fields(V& v) {
      v("processId", process_id);
      v("shellProcessId", shell_process_id);
    }
  };
};

}  // namespace hangdbg::dap
