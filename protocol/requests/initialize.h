// The first request of a DAP client: its name, and our capabilities.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/capabilities.h"

namespace hangdbg::dap {

struct Initialize {
  static constexpr std::string_view command = "initialize";

  struct Arguments {
    std::string adapter_id;
    std::optional<std::string> client_id;
    std::optional<std::string> client_name;
    std::optional<std::string> locale;
    std::optional<std::string> path_format;  // "path" or "uri"
    std::optional<bool> lines_start_at1;     // default true
    std::optional<bool> columns_start_at1;   // default true
    std::optional<bool> supports_variable_type;
    std::optional<bool> supports_variable_paging;
    std::optional<bool> supports_run_in_terminal_request;
    std::optional<bool> supports_progress_reporting;
    std::optional<bool> supports_invalidated_event;
    std::optional<bool> supports_start_debugging_request;
    std::optional<bool> supports_ansi_styling;

    template <class V>
    void fields(V& v) {
      v("adapterID", adapter_id);
      v("clientID", client_id);
      v("clientName", client_name);
      v("locale", locale);
      v("pathFormat", path_format);
      v("linesStartAt1", lines_start_at1);
      v("columnsStartAt1", columns_start_at1);
      v("supportsVariableType", supports_variable_type);
      v("supportsVariablePaging", supports_variable_paging);
      v("supportsRunInTerminalRequest", supports_run_in_terminal_request);
      v("supportsProgressReporting", supports_progress_reporting);
      v("supportsInvalidatedEvent", supports_invalidated_event);
      v("supportsStartDebuggingRequest", supports_start_debugging_request);
      v("supportsANSIStyling", supports_ansi_styling);
    }
  };

  using Body = Capabilities;
};

}  // namespace hangdbg::dap
