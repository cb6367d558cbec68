// A Unix socket that is silent or blocked: one of a pair of sockets, or the
// connection to a server here.
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/socket_peer.h"

namespace hangdbg::causes {
namespace {

// The address that a thread gives to connect(2) or sendto(2): a path, or
// "@name".
std::string awaited_address(const ProcessSnapshot& of,
                            const ThreadSnapshot& thread) {
  const auto& call = thread.wait.call;
  if (call.number != SYS_connect && call.number != SYS_sendto) {
    return "";
  }
  const std::size_t at = call.number == SYS_connect ? 1 : 4;
  const Address place{call.args[at]};
  const auto size =
      std::min<std::uint64_t>(call.args[at + 1], sizeof(sockaddr_un));
  constexpr std::size_t kHead = offsetof(sockaddr_un, sun_path);
  std::array<char, sizeof(sockaddr_un)> bytes{};
  if (!place || size <= kHead ||
      !of.memory().read(place,
                        std::as_writable_bytes(std::span(bytes).first(size))) ||
      bytes[0] != AF_UNIX) {
    return "";
  }
  std::string name(bytes.data() + kHead, size - kHead);
  const bool in_no_file_system = name.front() == '\0';
  if (in_no_file_system) {
    name.front() = '@';
  } else {
    name = name.substr(0, name.find('\0'));
  }
  return name;
}

}  // namespace

Found unix_socket(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const AwaitedFiles& awaited,
                  const AwaitedFile& only) {
  const OpenFile& file = only.file;
  const bool reads = only.to_read;
  auto peer = of.system.unix_peer(of.pid, file.inode);
  std::string address = peer ? peer->name : "";
  const bool connects = !peer && thread.sleeps_in("connect");
  if (!peer) {
    address = awaited_address(of, thread);
    peer =
        address.empty() ? std::nullopt : of.system.unix_server(of.pid, address);
    if (!peer) {
      return std::nullopt;
    }
    peer->accepted = !connects;
  }
  Cause cause{.id = reads || connects || !peer->accepted
                        ? CauseId::PeerSilent
                        : CauseId::PeerDoesNotRead,
              .progress = Progress::Blocked,
              .confidence = Confidence::Possible};
  cause.evidence.push_back(fmt::format("{} of fd {}, {}, at {}",
                                       thread.wait.syscall, file.fd,
                                       printable(file.name), thread.place()));
  const SocketWait wait{.over = "a Unix socket",
                        .to = address.empty() ? "a Unix socket" : address,
                        .reads = reads,
                        .connects = connects,
                        .with_time = awaited.with_time};
  if (!lead_to_peer(of, thread, *peer, wait, cause)) {
    // A closed one would have no peer at all: it belongs to another container,
    // or to a process that may not be inspected.
    cause.progress = Progress::Idle;
    cause.summary =
        "waits for a Unix socket, and the owner of its other end cannot be "
        "seen "
        "from here";
  }
  cause.next.push_back({fmt::format("hangdbg net {}", of.pid),
                        "its sockets, and the owners of the other ends"});
  if (gets_on(thread, awaited)) {
    return of_one_that_gets_on(std::move(cause));
  }
  return cause;
}

}  // namespace hangdbg::causes
