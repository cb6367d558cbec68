// stepInTargets: the calls that the line at which a thread is suspended makes.
#include <fmt/core.h>

#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"
#include "tracee/program/target_text.h"

namespace hangdbg {

void StepInTargetsHandler::declare(dap::Capabilities& capabilities) {
  capabilities.supports_step_in_targets_request = true;
}

// None, where there is no source to read them from.
Answer<dap::StepInTargets> StepInTargetsHandler::handle(
    DebugSession& session,
    Pair::Arguments arguments) {
  const auto place = session.shown().frame(arguments.frame_id);
  if (!place || !session.holds(place->thread)) {
    co_return dap::StepInTargets::Body();
  }
  const int pid = session.agent().target().pid;
  arguments.text = co_await session.on_pool([&] {
    return read_target_text(fmt::format("/proc/{}/root", pid), pid,
                            place->path);
  });
  const Deadline deadline = session.deadline();
  CO_CHECK(co_await session.agent().need_stepping(deadline));
  CO_CHECK(co_await session.agent().need("step_targets", deadline));
  CO_TRY(auto body, co_await session.agent().call<dap::StepInTargets>(
                        std::move(arguments), deadline));
  session.translation().outward(body);
  co_return body;
}

}  // namespace hangdbg
