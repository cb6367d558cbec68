// Which process the session is in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct Process {
  static constexpr std::string_view event = "process";

  struct Body {
    std::string name;
    std::optional<std::int64_t> system_process_id;
    std::optional<bool> is_local_process;
    std::optional<std::string> start_method;  // "attach" or "launch"

    template <class V>
    void fields(V& v) {
      v("name", name);
      v("systemProcessId", system_process_id);
      v("isLocalProcess", is_local_process);
      v("startMethod", start_method);
    }
  };
};

}  // namespace hangdbg::dap
