#include "diagnosis/snapshot/socket_holders.h"

#include <optional>

#include "base/parallel_map.h"
#include "tracee/net/tcp_sockets.h"
#include "tracee/proc/proc_list.h"

namespace hangdbg {
namespace {

struct Own {
  std::map<std::uint64_t, int> sockets;
  std::uint64_t network = 0;
};

}  // namespace

AllSockets read_all_sockets(Deadline deadline) {
  AllSockets all;
  const auto pids = list_processes();
  parallel_map<Own>(
      pids ? *pids : std::vector<int>(), deadline,
      [](int pid) -> Result<Own> {
        Own own{.sockets = TRY(socket_descriptors(pid))};
        own.network = network_namespace(pid).value_or(0);
        return own;
      },
      [&](int pid, std::optional<Result<Own>> own) {
        if (!own || (!*own && (*own).error().id != ErrorId::NoSuchProcess)) {
          ++all.unseen;
          return;
        }
        if (!*own) {
          return;
        }
        for (const auto& [inode, fd] : (*own)->sockets) {
          all.by_inode.emplace(inode, SocketFd{pid, fd});
        }
        if ((*own)->network != 0) {
          all.networks.try_emplace((*own)->network, pid);
        }
      });
  return all;
}

}  // namespace hangdbg
