// Code of a file that was changed goes into the functions that are there
// (agent/reloading.py): the file is read out of process.
#pragma once

#include <string>

#include "base/result.h"
#include "protocol/requests/reload.h"
#include "server/session/hold.h"

namespace hangdbg {

// `path`: as somebody types it. Errors: Unreadable; those of the agent.
boost::asio::awaitable<Result<dap::Reload::Body>> reload_file(
    AgentSession& session,
    std::string path,
    Deadline deadline,
    Elsewhere elsewhere);

Result<dap::Reload::Body> reload_file(Session& session,
                                      const std::string& path,
                                      Deadline deadline);

// What was done, in lines.
std::string reload_text(const dap::Reload::Body& done);

}  // namespace hangdbg
