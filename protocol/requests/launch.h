// Starts a program under the debugger: a script or a module.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/debug_options.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct Launch {
  static constexpr std::string_view command = "launch";

  struct Arguments {
    std::optional<std::string> program;  // or module
    std::optional<std::string> module;
    std::optional<std::vector<std::string>> args;
    std::optional<std::string> cwd;
    // null: unset
    std::optional<std::map<std::string, std::optional<std::string>>> env;
    std::optional<std::string> python;
    std::optional<std::vector<std::string>> python_args;
    // "internalConsole", "integratedTerminal" or "externalTerminal"
    std::optional<std::string> console;
    std::optional<bool> no_debug;
    std::optional<std::string> token;  // of the server, where it wants one
    DebugOptions options;

    template <class V>
    void fields(V& v) {
      v("program", program);
      v("module", module);
      v("args", args);
      v("cwd", cwd);
      v("env", env);
      v("python", python);
      v("pythonArgs", python_args);
      v("console", console);
      v("noDebug", no_debug);
      v("token", token);
      options.fields(v);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
