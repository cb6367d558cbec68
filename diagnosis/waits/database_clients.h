// A database server of many threads that has a request, and does not answer:
// who else has connections to it.
#pragma once

#include <string_view>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct DatabaseClients {
  std::string_view command;  // tells which lock is waited for, and its owner
  std::vector<int> idle;     // processes of this machine that ask nothing now
};

// None: process `server` is no such database. The other end of PostgreSQL is a
// process, which causes/postgres.cpp reads.
std::optional<DatabaseClients> database_clients(SystemSnapshot& system,
                                                int server);

}  // namespace hangdbg
