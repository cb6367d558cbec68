// hangdbg/verdict: what `ps` says of the target at this moment, by the same
// call.
#include <fmt/core.h>

#include "diagnosis/survey/survey.h"
#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Verdict> VerdictHandler::handle(DebugSession& session,
                                            Pair::Arguments) {
  const int pid = session.agent().target().pid;
  const auto processes = survey(kHungAfterS, session.deadline(), {pid});
  if (!processes) {
    co_return std::unexpected(processes.error());
  }
  if (processes->empty() || !processes->front().found) {
    co_return fail(ErrorId::Unreadable,
                   fmt::format("process {} could not be looked into", pid),
                   fmt::format("hangdbg diagnose {}", pid));
  }
  const SurveyedProcess& one = processes->front();
  const Diagnosis& found = *one.found;
  co_return dap::Verdict::Body{
      .state = one.state(),
      .stalled = one.stalled(),
      .cause = std::string(cause_name(found.cause.id)),
      .confidence = std::string(confidence_name(found.cause.confidence)),
      .summary = summary_line(found),
      .waiting_s = one.waiting_s(),
      .evidence = found.cause.evidence};
}

}  // namespace hangdbg
