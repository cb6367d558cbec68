// A TCP connection that stands still: the peer does not answer, does not read,
// or is not there.
#include <fmt/core.h>

#include <chrono>

#include "base/text.h"
#include "inspector/diagnosis/awaited_files.h"
#include "inspector/diagnosis/causes/causes.h"

namespace hangdbg::causes {
namespace {

std::string ends_of(const TcpSocket& socket) {
  return fmt::format("{} -> {}", socket.local.text(), socket.remote.text());
}

// What is wrong with it, if anything is.
Found trouble_of(const TcpSocket& socket) {
  const std::string peer = socket.remote.text();
  Cause cause{.id = "peer-unreachable",
              .standing = Standing::Waits,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(fmt::format(
      "{}: {}, {} bytes not acknowledged, sent again {} times", ends_of(socket),
      tcp_state_name(socket.state), socket.unacknowledged, socket.retransmits));
  if (socket.progress) {
    cause.evidence.push_back(fmt::format(
        "last answer {} ago", human_duration(socket.progress->last_answered)));
  }
  const std::string host = peer.substr(0, peer.rfind(':'));
  cause.next.push_back({fmt::format("ping {}", host), "whether it is there"});
  if (socket.state == TcpState::SynSent) {
    cause.sentence = fmt::format(
        "connects to {}, which does not answer: a firewall, a wrong address, "
        "or "
        "a machine that is down",
        peer);
    return cause;
  }
  if (socket.state != TcpState::Established) {
    return std::nullopt;
  }
  if (socket.retransmits > 0 && socket.unacknowledged > 0) {
    cause.sentence = fmt::format(
        "has sent to {}, which does not answer: the kernel sends it again and "
        "again",
        peer);
    return cause;
  }
  if (socket.unacknowledged > 0) {
    cause.id = "peer-does-not-read";
    cause.sentence =
        fmt::format("waits until {} reads: {} bytes lie in the queue", peer,
                    socket.unacknowledged);
    cause.confidence = Confidence::Likely;
    return cause;
  }
  return std::nullopt;
}

}  // namespace

Found connection(const Case& of, const CaseThread& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  const TcpSocket* only = nullptr;
  std::optional<TcpSocket> socket;
  bool one = awaited.files.size() == 1;
  bool reads = false;
  for (const auto& [file, to_read] : awaited.files) {
    if (file.kind != FileKind::Socket) {
      continue;
    }
    const auto found = of.world.tcp_socket(of.pid, file.inode);
    if (!found) {
      continue;
    }
    if (auto cause = trouble_of(*found)) {
      cause->evidence.push_back(
          fmt::format("fd {}, at {}", file.fd, thread.place()));
      return cause;
    }
    socket = found;
    only = one ? &*socket : nullptr;
    reads = to_read;
  }
  if (only == nullptr || only->state == TcpState::Listen) {
    return std::nullopt;
  }
  Cause cause{.id = "peer-silent",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely};
  cause.sentence = fmt::format("waits for {}, which {}", only->remote.text(),
                               only->state == TcpState::CloseWait
                                   ? "has closed the connection"
                               : reads ? "sends nothing"
                                       : "does not read");
  cause.evidence.push_back(fmt::format("{}: {}, at {}", ends_of(*only),
                                       tcp_state_name(only->state),
                                       thread.place()));
  if (only->progress) {
    cause.evidence.push_back(
        fmt::format("last data from it {} ago",
                    human_duration(only->progress->last_received)));
  }
  return cause;
}

}  // namespace hangdbg::causes
