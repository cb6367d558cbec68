// A call of gRPC (grpcio) that waits for its answer. The thread waits in C
// code, in rounds of some 200 ms; only the channel's target tells which
// connection carries the call: https://github.com/grpc/grpc, _channel.py.
#include <fmt/core.h>

#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/socket_peer.h"

namespace hangdbg::causes {
namespace {

// "b'/pkg.Service/Method'" without its quotes.
std::string text_of_bytes(std::string shown) {
  const bool quoted =
      shown.size() > 3 && shown.starts_with('b') && shown.back() == shown[1];
  return quoted ? shown.substr(2, shown.size() - 3) : "";
}

// Those to the port of that target: "ipv4:127.0.0.1:50051", "dns:///host:443".
std::vector<TcpSocket> connections_to(const ProcessSnapshot& of,
                                      const std::string& target) {
  const auto colon = target.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(target.substr(colon + 1));
  std::vector<TcpSocket> found = of.system.tcp_connections(of.pid);
  std::erase_if(found, [&](const TcpSocket& one) {
    return !port || one.remote.port != *port || one.state == TcpState::Listen;
  });
  return found;
}

}  // namespace

Found grpc(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const PythonFrame* const call = thread.find("_blocking", "/grpc/_channel.py");
  if (call == nullptr || thread.wait.state == 'R') {
    return std::nullopt;
  }
  const std::string method = text_of_bytes(of.shown(*call, "self._method"));
  const std::string target = text_of_bytes(of.shown(*call, "self._target"));
  Cause cause{.id = CauseId::PeerSilent,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely,
              .timeout_scale = std::numeric_limits<double>::infinity()};
  const std::string what =
      fmt::format("waits for the answer to {} of gRPC",
                  method.empty() ? std::string("a call") : method);
  cause.evidence.push_back(
      fmt::format("in {}, at {}", thread.wait.syscall, thread.place()));
  const auto connections = connections_to(of, target);
  for (const TcpSocket& one : connections) {
    cause.evidence.push_back(fmt::format("{} -> {}: {}", one.local.text(),
                                         one.remote.text(),
                                         tcp_state_name(one.state)));
  }
  const auto peer = connections.size() == 1
                        ? of.system.tcp_peer(of.pid, connections.front())
                        : std::nullopt;
  const SocketWait wait{
      .over = fmt::format("TCP ({})", target), .to = target, .with_time = true};
  if (peer && lead_to_peer(of, thread, *peer, wait, cause)) {
    std::erase(cause.evidence, "the call has a timeout: it returns by itself");
    cause.summary = fmt::format("{}: {}", what, cause.summary);
  } else {
    cause.summary =
        fmt::format("{} from {}", what, target.empty() ? "its server" : target);
    if (connections.empty() && !target.empty()) {
      cause.evidence.push_back("it has no connection to that port");
    }
  }
  cause.next.push_back({fmt::format("hangdbg net {}", of.pid),
                        "its connections, and the owners of the other ends"});
  return cause;
}

}  // namespace hangdbg::causes
