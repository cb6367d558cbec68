// A UDP socket that receives nothing. The kernel does not know which packet is
// awaited; of a connected socket, it knows the sender.
#include <fmt/core.h>

#include <limits>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/socket_peer.h"
#include "diagnosis/waits/awaited_files.h"

namespace hangdbg::causes {

Found udp(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  const auto only = only_connection(of, thread, awaited);
  const auto socket = only && only->to_read && !gets_on(thread, awaited)
                          ? of.system.udp_socket(of.pid, only->file.inode)
                          : std::nullopt;
  if (!socket || socket->unread > 0) {
    return std::nullopt;
  }
  if (socket->remote.port == 0) {
    return Cause{
        .id = CauseId::Idle,
        .progress = Progress::Idle,
        .confidence = Confidence::Likely,
        .summary =
            fmt::format("waits for a UDP packet at {}", socket->local.text()),
        .evidence = {fmt::format("{} of fd {}, at {}", thread.wait.syscall,
                                 only->file.fd, thread.place())}};
  }
  const std::string address = socket->remote.text();
  Cause cause{.id = CauseId::PeerSilent,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.evidence.push_back(fmt::format("fd {}: UDP {} -> {}, at {}",
                                       only->file.fd, socket->local.text(),
                                       address, thread.place()));
  const auto peer = of.system.udp_peer(of.pid, *socket);
  const SocketWait wait{.over = fmt::format("UDP ({})", address),
                        .to = address,
                        .with_time = awaited.with_time};
  if (!peer || !lead_to_peer(of, thread, *peer, wait, cause)) {
    cause.summary = fmt::format(
        "waits for a UDP packet from {}, which sends none", address);
    // It may be lost, or never be sent.
    cause.timeout_scale = std::numeric_limits<double>::infinity();
  }
  cause.next.push_back({fmt::format("hangdbg net {}", of.pid),
                        "its sockets, and the owners of the other ends"});
  return cause;
}

}  // namespace hangdbg::causes
