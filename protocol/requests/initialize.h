// The first request of a DAP client: who it is, and what we can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct Initialize {
  static constexpr std::string_view command = "initialize";

  struct Arguments {
    std::string adapter_id;
    std::optional<std::string> client_id;
    std::optional<std::string> client_name;
    std::optional<std::string> locale;
    std::optional<std::string> path_format;  // "path" or "uri"
    std::optional<bool> lines_start_at_1;
    std::optional<bool> columns_start_at_1;
    std::optional<bool> supports_variable_type;

    template <class V>
    void fields(V& v) {
      v("adapterID", adapter_id);
      v("clientID", client_id);
      v("clientName", client_name);
      v("locale", locale);
      v("pathFormat", path_format);
      v("linesStartAt1", lines_start_at_1);
      v("columnsStartAt1", columns_start_at_1);
      v("supportsVariableType", supports_variable_type);
    }
  };

  // Each handler sets the one that speaks of it.
  struct Body {
    std::optional<bool> supports_cancel;
    std::optional<bool> supports_completions;
    std::optional<bool> supports_configuration_done;
    std::optional<bool> supports_delayed_stack_trace_loading;
    std::optional<bool> supports_evaluate_for_hovers;

    template <class V>
    void fields(V& v) {
      v("supportsCancelRequest", supports_cancel);
      v("supportsCompletionsRequest", supports_completions);
      v("supportsConfigurationDoneRequest", supports_configuration_done);
      v("supportsDelayedStackTraceLoading",
        supports_delayed_stack_trace_loading);
      v("supportsEvaluateForHovers", supports_evaluate_for_hovers);
    }
  };
};

}  // namespace hangdbg::dap
