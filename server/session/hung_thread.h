// Which thread a user who attaches wants to see, and what it waits for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "protocol/requests/stack_trace.h"
#include "protocol/requests/threads.h"
#include "server/session/agent_session.h"
#include "server/session/session.h"
#include "tracee/proc/wait_sample.h"

namespace hangdbg {

struct ShownThread {
  std::int64_t tid = 0;
  std::string name;
  dap::StackTrace::Body stack;  // innermost frame first
};

// How each thread waits right now; those that end before they are read are left
// out. To be taken before an attach, which wakes the thread that it borrows.
using ThreadSamples = std::map<std::int64_t, WaitSample>;
ThreadSamples sample_threads(int pid);

// `wanted` is a tid, a thread's name, "main", or empty for the default one
// (inspector/snapshot/default_thread.h).
// Errors: NoSuchThread, naming those there are; those of Session::call.
AgentSession::Awaitable<ShownThread> choose_thread(AgentSession& session,
                                                   std::string wanted,
                                                   Deadline deadline);
Result<ShownThread> choose_thread(Session& session,
                                  const std::string& wanted,
                                  Deadline deadline);

// "asleep in futex for 1 h 52 min" when the first look proves it; else looks
// a few times for a quarter of a second: "loops at file_baton.py:42, cpu 0 %",
// "runs (3 places in 5 looks), cpu 99 %".
boost::asio::awaitable<std::string> describe_wait(
    AgentSession& session,
    std::int64_t tid,
    std::optional<WaitSample> before,
    Deadline deadline);
std::string describe_wait(Session& session,
                          std::int64_t tid,
                          const std::optional<WaitSample>& before,
                          Deadline deadline);

}  // namespace hangdbg
