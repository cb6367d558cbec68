// pdb's commands in an editor's debug console: `w`, `ll`, `p x`, `n`, `unt 12`.
//
// What a name of the program's could mean is Python: `n` is the next line only
// in a frame that has no n, and `c + 1` is a sum.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "base/result.h"
#include "protocol/requests/evaluate.h"
#include "server/dap/debug_session.h"

namespace hangdbg {

// What is left to evaluate: all of it, if it is no command, or what follows
// `p`. Or the command's answer.
using ConsoleAnswer = std::variant<dap::Evaluate::Arguments, std::string>;

// Errors: Usage, those of what it does.
boost::asio::awaitable<Result<ConsoleAnswer>> run_in_console(
    DebugSession& session,
    dap::Evaluate::Arguments typed);

}  // namespace hangdbg
