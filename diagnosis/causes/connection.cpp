// A TCP connection that is silent or blocked: the peer does not answer, does
// not read, or is gone. unix_socket.cpp has the Unix sockets.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/socket_peer.h"
#include "diagnosis/waits/awaited_files.h"

namespace hangdbg::causes {
namespace {

std::string ends_of(const TcpSocket& socket) {
  return fmt::format("{} -> {}", socket.local.text(), socket.remote.text());
}

NextStep read_sockets(int pid) {
  return {fmt::format("hangdbg net {}", pid),
          "what TCP does about it, and the owner of the other end"};
}

// What is wrong with it, if anything is.
Found trouble_of(const TcpSocket& socket) {
  const std::string peer = socket.remote.text();
  Cause cause{.id = CauseId::PeerUnreachable,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(fmt::format(
      "{}: {}, {} bytes not acknowledged, sent again {} times", ends_of(socket),
      tcp_state_name(socket.state), socket.unacknowledged, socket.retransmits));
  if (socket.progress) {
    cause.evidence.push_back(fmt::format(
        "last answer {} ago", human_duration(socket.progress->last_answered)));
  }
  cause.next.push_back({fmt::format("ping {}", socket.remote.host_text()),
                        "whether it is there"});
  if (socket.state == TcpState::SynSent) {
    cause.summary = fmt::format(
        "connects to {}, which does not answer: a firewall, a wrong address, "
        "or a machine that is down",
        peer);
    return cause;
  }
  if (socket.state == TcpState::Established && socket.retransmits > 0 &&
      socket.unacknowledged > 0) {
    cause.summary = fmt::format(
        "has sent to {}, which does not answer: the kernel sends it again and "
        "again",
        peer);
    return cause;
  }
  return std::nullopt;
}

// Sent bytes are on their way while a first answer to them is awaited.
bool peer_does_not_read(const TcpSocket& socket, bool reads) {
  return socket.unacknowledged > 0 &&
         (!reads || socket.timer != TcpTimer::Retransmit);
}

// Bytes, or the end, have arrived: the thread does not wait for the peer.
bool has_come(const TcpSocket& socket) {
  return socket.unread > 0 || socket.state == TcpState::CloseWait;
}

Cause has_its_data(const TcpSocket& socket, const ThreadSnapshot& thread) {
  const std::string what = socket.unread > 0
                               ? fmt::format("{} bytes", socket.unread)
                               : std::string("the end of the connection");
  return {.id = CauseId::Runs,
          .progress = Progress::Running,
          .confidence = Confidence::Likely,
          .summary = fmt::format("is about to read {} from {}", what,
                                 socket.remote.text()),
          .evidence = {fmt::format(
              "{}: {}, {} bytes unread, at {}", ends_of(socket),
              tcp_state_name(socket.state), socket.unread, thread.place())}};
}

// What TCP says about a peer that cannot be seen.
void say_progress(const TcpSocket& socket, Cause& cause) {
  if (const auto& progress = socket.progress) {
    const std::string ago = human_duration(progress->last_received);
    cause.evidence.push_back(
        progress->received == 0
            ? fmt::format("no data has come from it since they connected, {} "
                          "ago",
                          ago)
            : fmt::format("last data from it {} ago", ago));
  }
  if (socket.unacknowledged == 0 && socket.state == TcpState::Established) {
    cause.evidence.push_back(
        socket.timer == TcpTimer::KeepAlive
            ? fmt::format("keep-alive is on: a probe is sent in {}",
                          human_duration(socket.timer_due))
            : "keep-alive is off: a peer that vanishes is not noticed");
  }
}

std::string silent_text(const TcpSocket& socket, bool reads, bool unseen) {
  const std::string peer = socket.remote.text();
  std::string text;
  if (peer_does_not_read(socket, reads)) {
    text = fmt::format("waits until {} reads: {} bytes lie in the queue", peer,
                       socket.unacknowledged);
  } else {
    text = fmt::format("waits for {}, which {}", peer,
                       reads ? "sends nothing" : "does not read");
  }
  return unseen ? text + "; the owner of the other end cannot be seen" : text;
}

Cause waits_for_peer(const ProcessSnapshot& of,
                     const ThreadSnapshot& thread,
                     const AwaitedFile& awaited,
                     const TcpSocket& socket,
                     const SocketPeer* peer,
                     bool with_time) {
  const bool unread = peer_does_not_read(socket, awaited.to_read);
  Cause cause{.id = unread || !awaited.to_read ? CauseId::PeerDoesNotRead
                                               : CauseId::PeerSilent,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.evidence.push_back(
      fmt::format("fd {}: {}, {}, at {}", awaited.file.fd, ends_of(socket),
                  tcp_state_name(socket.state), thread.place()));
  if (socket.unacknowledged > 0) {
    cause.evidence.push_back(
        fmt::format("{} bytes not acknowledged", socket.unacknowledged));
  }
  const std::string address = socket.remote.text();
  const bool led =
      peer != nullptr && lead_to_peer(of, thread, *peer,
                                      {.over = fmt::format("TCP ({})", address),
                                       .to = address,
                                       .reads = awaited.to_read && !unread,
                                       .with_time = with_time},
                                      cause);
  if (!led) {
    say_progress(socket, cause);
    const bool unseen = peer != nullptr;
    cause.summary = silent_text(socket, awaited.to_read, unseen);
    if (unseen && peer->user) {
      cause.evidence.push_back(fmt::format(
          "the other end is of this machine, and of user {}", *peer->user));
    }
    if (cause.id == CauseId::PeerSilent) {
      cause.timeout_scale = kNoTimeTells;
    }
  }
  return cause;
}

Cause finds_no_room(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    const TcpSocket& socket,
                    const SocketPeer& peer) {
  Cause cause{.id = CauseId::PeerUnreachable,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(fmt::format("{}: {}, at {}", ends_of(socket),
                                       tcp_state_name(socket.state),
                                       thread.place()));
  // The kernel gives up after some minutes.
  const SocketWait wait{
      .to = socket.remote.text(), .connects = true, .with_time = true};
  if (!lead_to_peer(of, thread, peer, wait, cause)) {
    cause.summary = fmt::format(
        "connects to {}, which does not answer: its accept queue is full; who "
        "listens there may not be seen",
        socket.remote.text());
  }
  if (cause.blocked_by.empty()) {
    cause.confidence = Confidence::Certain;
  }
  return cause;
}

Found of_one(const ProcessSnapshot& of,
             const ThreadSnapshot& thread,
             const AwaitedFiles& awaited,
             const std::optional<AwaitedFile>& only) {
  if (!only) {
    return std::nullopt;
  }
  const auto socket = of.system.tcp_socket(of.pid, only->file.inode);
  if (!socket) {
    return unix_socket(of, thread, awaited, *only);
  }
  if (socket->state == TcpState::Listen) {
    return std::nullopt;
  }
  const auto peer = of.system.tcp_peer(of.pid, *socket);
  if (auto cause = trouble_of(*socket)) {
    if (peer && !peer->accepted && peer->is_full()) {
      cause = finds_no_room(of, thread, *socket, *peer);
    } else {
      cause->evidence.push_back(
          fmt::format("fd {}, at {}", only->file.fd, thread.place()));
    }
    cause->next.push_back(read_sockets(of.pid));
    return cause;
  }
  if (only->to_read && has_come(*socket)) {
    return has_its_data(*socket, thread);
  }
  Cause cause = waits_for_peer(of, thread, *only, *socket,
                               peer ? &*peer : nullptr, awaited.with_time);
  cause.next.push_back(read_sockets(of.pid));
  return gets_on(thread, awaited) ? of_one_that_gets_on(std::move(cause))
                                  : std::optional(std::move(cause));
}

}  // namespace

Found connection(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  // A thread that waits for several connections is a server: one dead client
  // does not block the others.
  const AwaitedFiles awaited = awaited_files(of, thread);
  return of_one(of, thread, awaited, only_connection(of, thread, awaited));
}

Found connection_of_loop(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread,
                         const AwaitedFile& only) {
  return only.file.kind == FileKind::Socket
             ? of_one(of, thread, awaited_files(of, thread), only)
             : std::nullopt;
}

}  // namespace hangdbg::causes
