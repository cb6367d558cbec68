// goto: the thread's innermost function continues at another line, which it has
// not run yet. The editor is told as of a stop.
#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"
#include "server/session/hold.h"

namespace hangdbg {
namespace {

// Of the file, as its code object has it: what is relative is an end of it.
bool is_in(const dap::StackFrame& frame, const std::string& path) {
  const std::string file = frame.source ? frame.source->path.value_or("") : "";
  return !file.empty() && (path == file || path.ends_with("/" + file));
}

}  // namespace

Answer<dap::Goto> GotoHandler::handle(DebugSession& session,
                                      Pair::Arguments arguments) {
  const auto target = session.shown().goto_target(arguments.target_id);
  if (!target) {
    co_return fail(ErrorId::Usage, "no such target: gotoTargets gives them");
  }
  if (!session.holds(arguments.thread_id)) {
    CO_CHECK(co_await session.hold(arguments.thread_id));
  }
  dap::StackTrace::Arguments innermost;
  innermost.thread_id = arguments.thread_id;
  innermost.levels = 1;
  CO_TRY(const auto stack,
         co_await session.agent().stack(innermost, session.deadline()));
  if (stack.stack_frames.empty() ||
      !is_in(stack.stack_frames.front(), target->path)) {
    co_return fail(ErrorId::Usage,
                   "the thread's innermost function is in another file");
  }
  session.answer_before_stops();
  CO_CHECK(co_await jump_thread(session.agent(), arguments.thread_id,
                                target->line, session.deadline()));
  co_return dap::Nothing();
}

}  // namespace hangdbg
