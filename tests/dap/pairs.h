// Every typed message that there is, for the tests that go over all of them.
#pragma once

#include "protocol/events/breakpoint.h"
#include "protocol/events/capabilities.h"
#include "protocol/events/continued.h"
#include "protocol/events/coordinator_left.h"
#include "protocol/events/exited.h"
#include "protocol/events/failure.h"
#include "protocol/events/initialized.h"
#include "protocol/events/invalidated.h"
#include "protocol/events/loaded_source.h"
#include "protocol/events/module.h"
#include "protocol/events/output.h"
#include "protocol/events/process.h"
#include "protocol/events/progress_end.h"
#include "protocol/events/progress_start.h"
#include "protocol/events/progress_update.h"
#include "protocol/events/stopped.h"
#include "protocol/events/suspended.h"
#include "protocol/events/terminal_ended.h"
#include "protocol/events/terminal_output.h"
#include "protocol/events/terminated.h"
#include "protocol/events/thread.h"
#include "protocol/message.h"
#include "protocol/requests/attach.h"
#include "protocol/requests/breakpoint_locations.h"
#include "protocol/requests/cached_source.h"
#include "protocol/requests/cancel.h"
#include "protocol/requests/completions.h"
#include "protocol/requests/configuration_done.h"
#include "protocol/requests/continue.h"
#include "protocol/requests/coordinate.h"
#include "protocol/requests/data_breakpoint_info.h"
#include "protocol/requests/debug.h"
#include "protocol/requests/disconnect.h"
#include "protocol/requests/evaluate.h"
#include "protocol/requests/exception_info.h"
#include "protocol/requests/frame_arguments.h"
#include "protocol/requests/goto.h"
#include "protocol/requests/goto_targets.h"
#include "protocol/requests/hello.h"
#include "protocol/requests/hold.h"
#include "protocol/requests/hold_children.h"
#include "protocol/requests/initialize.h"
#include "protocol/requests/join.h"
#include "protocol/requests/launch.h"
#include "protocol/requests/limit.h"
#include "protocol/requests/load.h"
#include "protocol/requests/loaded_sources.h"
#include "protocol/requests/modules.h"
#include "protocol/requests/next.h"
#include "protocol/requests/object_source.h"
#include "protocol/requests/pause.h"
#include "protocol/requests/process_groups.h"
#include "protocol/requests/reload.h"
#include "protocol/requests/restart_frame.h"
#include "protocol/requests/run_in_terminal.h"
#include "protocol/requests/scopes.h"
#include "protocol/requests/set_breakpoints.h"
#include "protocol/requests/set_data_breakpoints.h"
#include "protocol/requests/set_exception_breakpoints.h"
#include "protocol/requests/set_expression.h"
#include "protocol/requests/set_function_breakpoints.h"
#include "protocol/requests/set_variable.h"
#include "protocol/requests/source.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/start_debugging.h"
#include "protocol/requests/step_in.h"
#include "protocol/requests/step_in_targets.h"
#include "protocol/requests/step_out.h"
#include "protocol/requests/terminal/terminal.h"
#include "protocol/requests/terminal/terminal_input.h"
#include "protocol/requests/terminal/terminal_resize.h"
#include "protocol/requests/terminate.h"
#include "protocol/requests/threads.h"
#include "protocol/requests/variables.h"
#include "protocol/requests/whatis.h"

namespace hangdbg::dap {

// use.template operator()<T>() for each of the types.
template <class... Types>
struct Each {
  template <class Use>
  void operator()(Use use) const {
    (use.template operator()<Types>(), ...);
  }
};

inline constexpr Each<Attach,
                      BreakpointLocations,
                      CachedSource,
                      Cancel,
                      Completions,
                      ConfigurationDone,
                      Continue,
                      DataBreakpointInfo,
                      Debug,
                      Disconnect,
                      Evaluate,
                      ExceptionInfo,
                      FrameArguments,
                      Goto,
                      GotoTargets,
                      Hello,
                      Hold,
                      HoldChildren,
                      Initialize,
                      Join,
                      Launch,
                      Limit,
                      Load,
                      LoadedSources,
                      Modules,
                      Next,
                      ObjectSource,
                      Coordinate,
                      Pause,
                      ProcessGroups,
                      Reload,
                      RestartFrame,
                      Scopes,
                      SetBreakpoints,
                      SetDataBreakpoints,
                      SetExceptionBreakpoints,
                      SetExpression,
                      SetFunctionBreakpoints,
                      SetVariable,
                      SourceText,
                      StackTrace,
                      RunInTerminal,
                      StartDebugging,
                      StepIn,
                      StepInTargets,
                      StepOut,
                      Terminal,
                      TerminalInput,
                      TerminalResize,
                      Terminate,
                      Threads,
                      Variables,
                      Whatis>
    each_request;

inline constexpr Each<BreakpointEvent,
                      CapabilitiesEvent,
                      Continued,
                      Exited,
                      Failure,
                      Initialized,
                      Invalidated,
                      LoadedSource,
                      ModuleEvent,
                      Output,
                      CoordinatorLeft,
                      Process,
                      ProgressEnd,
                      ProgressStart,
                      ProgressUpdate,
                      Suspended,
                      Stopped,
                      TerminalEnded,
                      TerminalOutput,
                      Terminated,
                      ThreadEvent>
    each_event;

}  // namespace hangdbg::dap
