// disconnect: the last request. A program resumes, but for one that we have
// started, or if it is to stay suspended: then job control stops the whole of
// it, and with SIGCONT it resumes as if nothing had been.
#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"
#include "server/dap/launched_program.h"

namespace hangdbg {

namespace {

// Before anything that is held is resumed.
boost::asio::awaitable<Status> suspend(DebugSession& session) {
  const int pid = session.agent().target().pid;
  if (::kill(pid, SIGSTOP) != 0) {
    co_return fail(ErrorId::NotPermitted,
                   fmt::format("process {} cannot be stopped: {}", pid,
                               std::strerror(errno)));
  }
  session.set_suspended();
  co_await session.note(fmt::format(
      "process {} is stopped; it goes on with: kill -CONT {}", pid, pid));
  co_return Status();
}

}  // namespace

void DisconnectHandler::declare(dap::Capabilities& capabilities) {
  capabilities.support_suspend_debuggee = true;
}

Answer<dap::Disconnect> DisconnectHandler::handle(DebugSession& session,
                                                  Pair::Arguments arguments) {
  session.leave();
  const bool ends = session.program() != nullptr &&
                    arguments.terminate_debuggee.value_or(true);
  if (session.program() != nullptr && !ends) {
    session.program()->leave_alone();
  }
  if (arguments.suspend_debuggee.value_or(false) && !ends &&
      session.phase() == DebugSession::Phase::Attached) {
    CO_CHECK(co_await suspend(session));
  }
  co_return dap::Nothing();
}

}  // namespace hangdbg
