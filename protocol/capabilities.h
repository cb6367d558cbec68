// What an adapter can do. Each handler sets the one that speaks of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/breakpoint.h"

namespace hangdbg::dap {

// A kind of exception to stop at, for the user to choose.
struct ExceptionFilter {
  std::string filter;  // the id that setExceptionBreakpoints names
  std::string label;
  std::optional<std::string> description;
  std::optional<bool> is_default;
  std::optional<bool> supports_condition;
  std::optional<std::string> condition_description;

  template <class V>
  void fields(V& v) {
    v("filter", filter);
    v("label", label);
    v("description", description);
    v("default", is_default);
    v("supportsCondition", supports_condition);
    v("conditionDescription", condition_description);
  }
};

struct Capabilities {
  std::optional<bool> supports_configuration_done_request;
  std::optional<bool> supports_function_breakpoints;
  std::optional<bool> supports_conditional_breakpoints;
  std::optional<bool> supports_hit_conditional_breakpoints;
  std::optional<bool> supports_evaluate_for_hovers;
  std::optional<bool> supports_set_variable;
  std::optional<bool> supports_restart_frame;
  std::optional<bool> supports_goto_targets_request;
  std::optional<bool> supports_step_in_targets_request;
  std::optional<bool> supports_completions_request;
  std::optional<bool> supports_modules_request;
  std::optional<bool> supports_exception_info_request;
  std::optional<bool> support_terminate_debuggee;
  std::optional<bool> support_suspend_debuggee;
  std::optional<bool> supports_delayed_stack_trace_loading;
  std::optional<bool> supports_loaded_sources_request;
  std::optional<bool> supports_log_points;
  std::optional<bool> supports_data_breakpoints;
  std::optional<bool> supports_set_expression;
  std::optional<bool> supports_terminate_request;
  std::optional<bool> supports_cancel_request;
  std::optional<bool> supports_breakpoint_locations_request;
  std::optional<bool> supports_clipboard_context;
  std::optional<bool> supports_exception_filter_options;
  std::optional<bool> supports_exception_options;
  std::optional<bool> supports_single_thread_execution_requests;
  std::optional<std::vector<ExceptionFilter>> exception_breakpoint_filters;
  std::optional<std::vector<std::string>> completion_trigger_characters;
  // version.h: with which our own extension sees whether we fit each other
  std::optional<std::string> version;
  std::optional<std::int64_t> protocol;

  template <class V>
  void fields(V& v) {
    v("supportsConfigurationDoneRequest", supports_configuration_done_request);
    v("supportsFunctionBreakpoints", supports_function_breakpoints);
    v("supportsConditionalBreakpoints", supports_conditional_breakpoints);
    v("supportsHitConditionalBreakpoints",
      supports_hit_conditional_breakpoints);
    v("supportsEvaluateForHovers", supports_evaluate_for_hovers);
    v("supportsSetVariable", supports_set_variable);
    v("supportsRestartFrame", supports_restart_frame);
    v("supportsGotoTargetsRequest", supports_goto_targets_request);
    v("supportsStepInTargetsRequest", supports_step_in_targets_request);
    v("supportsCompletionsRequest", supports_completions_request);
    v("supportsModulesRequest", supports_modules_request);
    v("supportsExceptionInfoRequest", supports_exception_info_request);
    v("supportTerminateDebuggee", support_terminate_debuggee);
    v("supportSuspendDebuggee", support_suspend_debuggee);
    v("supportsDelayedStackTraceLoading", supports_delayed_stack_trace_loading);
    v("supportsLoadedSourcesRequest", supports_loaded_sources_request);
    v("supportsLogPoints", supports_log_points);
    v("supportsDataBreakpoints", supports_data_breakpoints);
    v("supportsSetExpression", supports_set_expression);
    v("supportsTerminateRequest", supports_terminate_request);
    v("supportsCancelRequest", supports_cancel_request);
    v("supportsBreakpointLocationsRequest",
      supports_breakpoint_locations_request);
    v("supportsClipboardContext", supports_clipboard_context);
    v("supportsExceptionFilterOptions", supports_exception_filter_options);
    v("supportsExceptionOptions", supports_exception_options);
    v("supportsSingleThreadExecutionRequests",
      supports_single_thread_execution_requests);
    v("exceptionBreakpointFilters", exception_breakpoint_filters);
    v("completionTriggerCharacters", completion_trigger_characters);
    v("hangdbg/version", version);
    v("hangdbg/protocol", protocol);
  }
};

}  // namespace hangdbg::dap
