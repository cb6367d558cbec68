#include "diagnosis/waits/database_clients.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "diagnosis/waits/awaited_files.h"

namespace hangdbg {
namespace {

struct Database {
  std::string_view program, command;
};
constexpr Database kDatabases[] = {
    {"mariadbd", "mariadb -e 'SHOW ENGINE INNODB STATUS'"},
    {"mysqld", "mysql -e 'SHOW ENGINE INNODB STATUS'"},
};

// A thread of the server waits for the next request there.
std::set<std::uint64_t> idle_connections(const ProcessSnapshot& server) {
  std::set<std::uint64_t> idle;
  for (const ThreadSnapshot& thread : server.threads) {
    const AwaitedFiles awaited = awaited_files(server, thread);
    if (awaited.files.size() == 1 &&
        awaited.files.front().file.kind == FileKind::Socket) {
      idle.insert(awaited.files.front().file.inode);
    }
  }
  return idle;
}

}  // namespace

std::optional<DatabaseClients> database_clients(SystemSnapshot& system,
                                                int server) {
  const ProcessSnapshot* const its = system.snapshot(server);
  if (its == nullptr) {
    return std::nullopt;
  }
  const auto* const known =
      std::ranges::find(kDatabases, its->status.name, &Database::program);
  if (known == std::end(kDatabases)) {
    return std::nullopt;
  }
  std::set<int> pids;
  for (const std::uint64_t inode : idle_connections(*its)) {
    const auto socket = system.tcp_socket(server, inode);
    const auto peer = socket ? system.tcp_peer(server, *socket)
                             : system.unix_peer(server, inode);
    for (const SocketFd& holder :
         peer ? peer->holders : std::vector<SocketFd>()) {
      pids.insert(holder.pid);
    }
  }
  pids.erase(server);
  return DatabaseClients{known->command, {pids.begin(), pids.end()}};
}

}  // namespace hangdbg
