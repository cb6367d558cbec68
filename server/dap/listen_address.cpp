#include "server/dap/listen_address.h"

#include <fmt/core.h>
#include <sys/un.h>

#include <boost/asio/ip/address.hpp>

#include "base/text.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto kHint =
    "unix:PATH, tcp:127.0.0.1:PORT or ws:127.0.0.1:PORT; from another machine: "
    "ssh -L 5678:127.0.0.1:5678";

Result<ListenAddress> parse_unix(std::string_view path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(ErrorId::Usage,
                fmt::format("a socket's path has 1 to {} characters",
                            sizeof(sockaddr_un::sun_path) - 1),
                kHint);
  }
  return asio::local::stream_protocol::endpoint(std::string(path));
}

Result<asio::ip::tcp::endpoint> parse_tcp(std::string_view word) {
  const auto colon = word.rfind(':');
  const auto port = colon == word.npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(word.substr(colon + 1));
  std::string_view host = word.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!port || error) {
    return fail(ErrorId::Usage,
                fmt::format("no address and port: {}", printable(word)), kHint);
  }
  return asio::ip::tcp::endpoint(address, *port);
}

const asio::ip::tcp::endpoint& tcp_of(const ListenAddress& address) {
  const auto* const web = std::get_if<WebSocketAddress>(&address);
  return web != nullptr ? web->endpoint
                        : std::get<asio::ip::tcp::endpoint>(address);
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view word) {
  if (word.starts_with("unix:")) {
    return parse_unix(word.substr(5));
  }
  if (word.starts_with("tcp:")) {
    return TRY(parse_tcp(word.substr(4)));
  }
  if (word.starts_with("ws:")) {
    return WebSocketAddress{TRY(parse_tcp(word.substr(3)))};
  }
  return fail(ErrorId::Usage,
              fmt::format("no place to listen at: {}", printable(word)), kHint);
}

std::optional<asio::ip::address> host_of(const ListenAddress& address) {
  if (std::holds_alternative<asio::local::stream_protocol::endpoint>(address)) {
    return std::nullopt;
  }
  return tcp_of(address).address();
}

bool is_public(const ListenAddress& address) {
  const auto host = host_of(address);
  return host && !host->is_loopback();
}

std::string to_text(const ListenAddress& address) {
  if (const auto* path =
          std::get_if<asio::local::stream_protocol::endpoint>(&address)) {
    return "unix:" + path->path();
  }
  const auto* const web = std::get_if<WebSocketAddress>(&address);
  const auto& tcp = tcp_of(address);
  const std::string host = tcp.address().to_string();
  return fmt::format("{}:{}:{}", web != nullptr ? "ws" : "tcp",
                     tcp.address().is_v6() ? "[" + host + "]" : host,
                     tcp.port());
}

}  // namespace hangdbg
