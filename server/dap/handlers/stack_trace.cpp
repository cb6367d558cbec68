// stackTrace: of any thread, suspended or running.
#include <fmt/core.h>

#include <algorithm>

#include "server/dap/handlers.h"
#include "server/dap/native_frames.h"

namespace hangdbg {
namespace {

// "model.train : 17", by what is wanted.
std::string name_of(const dap::StackFrame& frame,
                    const dap::StackFrameFormat& format) {
  std::string name = frame.name;
  if (format.module.value_or(false) && frame.hangdbg &&
      !frame.hangdbg->module.empty()) {
    name = frame.hangdbg->module + "." + name;
  }
  if (format.line.value_or(false) && frame.line > 0) {
    name += fmt::format(" : {}", frame.line);
  }
  return name;
}

}  // namespace

void StackTraceHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_delayed_stack_trace_loading = true;
}

Answer<dap::StackTrace> StackTraceHandler::handle(DebugSession& session,
                                                  Pair::Arguments wanted) {
  AgentSession& agent = session.agent();
  const bool native = session.options().native.value_or(false);
  auto asked = wanted;
  if (native) {  // only whole stacks can be brought together
    asked.start_frame.reset();
    asked.levels.reset();
  }
  auto stack = co_await agent.stack(asked, session.deadline());
  if (!stack) {
    co_return stack;
  }
  auto& frames = stack->stack_frames;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].id == 0) {
      frames[i].id = session.outside().add(agent.outside_frames().at(i));
    }
  }
  session.shown().note_frames(wanted.thread_id, *stack);
  if (native) {
    frames = co_await session.on_pool([&] {
      return with_native_frames(agent.target(), wanted.thread_id,
                                std::move(frames), session.outside());
    });
    stack->total_frames = std::ssize(frames);
    const auto size = std::ssize(frames);
    const auto first = std::clamp(wanted.start_frame.value_or(0), 0L, size);
    const auto levels = wanted.levels.value_or(0);
    const auto last =
        levels > 0 && levels < size - first ? first + levels : size;
    frames = {std::make_move_iterator(frames.begin() + first),
              std::make_move_iterator(frames.begin() + last)};
  }
  for (dap::StackFrame& frame : frames) {
    if (frame.source && frame.column == 0) {
      frame.column = 1;  // the beginning of the line: which column is unknown
    }
    if (wanted.format) {
      frame.name = name_of(frame, *wanted.format);
    }
  }
  session.translation().outward(*stack);
  co_return stack;
}

}  // namespace hangdbg
