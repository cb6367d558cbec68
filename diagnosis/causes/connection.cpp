// A connection that stands still, of TCP or of a Unix socket: the peer does not
// answer, does not read, or is not there.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

std::string ends_of(const TcpSocket& socket) {
  return fmt::format("{} -> {}", socket.local.text(), socket.remote.text());
}

NextStep read_sockets(int pid) {
  return {fmt::format("hangdbg net {}", pid),
          "what TCP does about it, and who has the other end"};
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
  const std::string host = peer.substr(0, peer.rfind(':'));
  cause.next.push_back({fmt::format("ping {}", host), "whether it is there"});
  if (socket.state == TcpState::SynSent) {
    cause.summary = fmt::format(
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
    cause.summary = fmt::format(
        "has sent to {}, which does not answer: the kernel sends it again and "
        "again",
        peer);
    return cause;
  }
  if (socket.unacknowledged > 0) {
    cause.id = CauseId::PeerDoesNotRead;
    cause.summary =
        fmt::format("waits until {} reads: {} bytes lie in the queue", peer,
                    socket.unacknowledged);
    cause.confidence = Confidence::Likely;
    return cause;
  }
  return std::nullopt;
}

// A socket that an event loop watches is often one by which it wakes itself.
bool waits_for_it_alone(const ThreadSnapshot& thread) {
  constexpr std::array<std::string_view, 10> kCalls = {
      "recvfrom", "recvmsg", "read", "readv",  "sendto",
      "sendmsg",  "write",   "poll", "writev", "ppoll"};
  return std::ranges::find(kCalls, thread.wait.syscall) != kCalls.end();
}

// A Unix socket: a pair of sockets, or the connection to a server here.
Found unix_socket(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const AwaitedFiles& awaited) {
  const auto& [file, reads] = awaited.files[0];
  if (!waits_for_it_alone(thread) || gets_on(thread, awaited)) {
    return std::nullopt;
  }
  const auto peers = of.world.unix_peers(of.pid, file.inode);
  if (!peers) {
    return std::nullopt;
  }
  std::vector<ThreadId> others;
  bool own = false;
  for (const int pid : *peers) {
    const ThreadId id{pid, pid};
    own = own || pid == of.pid;
    if (pid != of.pid && std::ranges::find(others, id) == others.end()) {
      others.push_back(id);
    }
  }
  Cause cause{.id = reads ? CauseId::PeerSilent : CauseId::PeerDoesNotRead,
              .progress = Progress::Blocked,
              .confidence = Confidence::Possible,
              .blocked_by = others,
              .any_unblocks = true};
  cause.evidence.push_back(fmt::format("{} of fd {}, {}, at {}",
                                       thread.wait.syscall, file.fd,
                                       printable(file.name), thread.place()));
  if (!others.empty()) {
    const std::string who = process_text(others.front().pid);
    cause.summary =
        reads ? fmt::format("waits for what {} sends over a Unix socket", who)
              : fmt::format("waits until {} reads from a Unix socket", who);
    const ProcessSnapshot* const other = of.world.snapshot(others.front().pid);
    if (others.size() == 1 && other != nullptr && other->threads.size() == 1) {
      cause.confidence = Confidence::Likely;  // no other thread can be the one
    }
  } else if (own) {
    cause.summary =
        "waits for a Unix socket whose other end this process itself has";
  } else {
    // A closed one would have no peer at all: it is of another container, or of
    // who may not be looked into.
    cause.progress = Progress::Idle;
    cause.summary =
        "waits for a Unix socket, and who has its other end is not to be seen "
        "from here";
  }
  cause.next.push_back(read_sockets(of.pid));
  return cause;
}

}  // namespace

Found connection(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  // Whoever waits for several is a server, which one dead client does not keep
  // from the others.
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (awaited.files.size() != 1 ||
      awaited.files[0].file.kind != FileKind::Socket) {
    return std::nullopt;
  }
  const auto& [file, reads] = awaited.files[0];
  const auto socket = of.world.tcp_socket(of.pid, file.inode);
  if (!socket) {
    return unix_socket(of, thread, awaited);
  }
  if (socket->state == TcpState::Listen) {
    return std::nullopt;
  }
  if (auto cause = trouble_of(*socket)) {
    cause->evidence.push_back(
        fmt::format("fd {}, at {}", file.fd, thread.place()));
    cause->next.push_back(read_sockets(of.pid));
    return cause;
  }
  Cause cause{.id = CauseId::PeerSilent,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.summary = fmt::format("waits for {}, which {}", socket->remote.text(),
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
  cause.next.push_back(read_sockets(of.pid));
  return cause;
}

}  // namespace hangdbg::causes
