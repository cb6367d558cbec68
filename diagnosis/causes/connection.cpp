// A TCP connection that stands still: the peer does not answer, does not read,
// or is not there.
#include <fmt/core.h>

#include <chrono>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"

namespace hangdbg::causes {
namespace {

std::string ends_of(const TcpSocket& socket) {
  return fmt::format("{} -> {}", socket.local.text(), socket.remote.text());
}

NextStep look_at_sockets(int pid) {
  return {fmt::format("hangdbg net {}", pid),
          "what TCP does about it, and who has the other end"};
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
  // Whoever waits for several is a server, which one dead client does not keep
  // from the others.
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (awaited.files.size() != 1 ||
      awaited.files[0].file.kind != FileKind::Socket) {
    return std::nullopt;
  }
  const auto& [file, reads] = awaited.files[0];
  const auto socket = of.world.tcp_socket(of.pid, file.inode);
  if (!socket || socket->state == TcpState::Listen) {
    return std::nullopt;
  }
  if (auto cause = trouble_of(*socket)) {
    cause->evidence.push_back(
        fmt::format("fd {}, at {}", file.fd, thread.place()));
    cause->next.push_back(look_at_sockets(of.pid));
    return cause;
  }
  Cause cause{.id = "peer-silent",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely};
  cause.sentence = fmt::format("waits for {}, which {}", socket->remote.text(),
                               socket->state == TcpState::CloseWait
                                   ? "has closed the connection"
                               : reads ? "sends nothing"
                                       : "does not read");
  cause.evidence.push_back(fmt::format("{}: {}, at {}", ends_of(*socket),
                                       tcp_state_name(socket->state),
                                       thread.place()));
  if (socket->progress) {
    cause.evidence.push_back(
        fmt::format("last data from it {} ago",
                    human_duration(socket->progress->last_received)));
  }
  cause.next.push_back(look_at_sockets(of.pid));
  return cause;
}

}  // namespace hangdbg::causes
