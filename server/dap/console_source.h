// What the debug console's commands about the source do.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "protocol/requests/evaluate.h"
#include "server/dap/console.h"
#include "server/dap/shown_places.h"

namespace hangdbg {

// A command, as somebody typed it.
struct TypedInConsole {
  dap::Evaluate::Arguments python;  // as it came
  std::string argument;             // of the command
  ShownPlaces::Frame place;

  std::int64_t frame_id() const { return python.frame_id.value_or(0); }
};

using ConsoleAwaitable = boost::asio::awaitable<Result<ConsoleAnswer>>;

// The stack, the newest frame last, as in pdb.
ConsoleAwaitable where_in_console(DebugSession& session, TypedInConsole typed);

// "12", "12, 20", "12, 5" (a count), or around the frame's own line.
ConsoleAwaitable list_in_console(DebugSession& session, TypedInConsole typed);

ConsoleAwaitable list_function_in_console(DebugSession& session,
                                          TypedInConsole typed);

// Functions get the code that is in that file now, or in the frame's.
ConsoleAwaitable reload_in_console(DebugSession& session, TypedInConsole typed);

}  // namespace hangdbg
