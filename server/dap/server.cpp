#include "server/dap/server.h"
#include "server/coroutines/as_result.h"

#include <sys/stat.h>

#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"
#include "server/dap/access.h"
#include "server/dap/lost_peer.h"
#include "server/dap/stream_transport.h"
#include "server/dap/tls_transport.h"
#include "server/dap/websocket_transport.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr int kMostSessions = 256;
constexpr auto kBreath = std::chrono::milliseconds(100);

std::optional<uid_t> user_of(asio::local::stream_protocol::socket& socket) {
  return user_of_unix_peer(socket.native_handle());
}

std::optional<uid_t> user_of(asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error);
  const auto here = socket.local_endpoint(error);
  return error ? std::nullopt : user_of_tcp_peer(peer, here);
}

// What is left of a server that was killed is in the way; what is not a socket,
// or still answers, is not touched.
void remove_stale(asio::io_context& io,
                  const asio::local::stream_protocol::endpoint& endpoint) {
  struct stat status {};
  if (::lstat(endpoint.path().c_str(), &status) != 0 ||
      !S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid()) {
    return;
  }
  asio::local::stream_protocol::socket probe(io);
  boost::system::error_code error;
  probe.connect(endpoint, error);
  if (error == asio::error::connection_refused) {
    ::unlink(endpoint.path().c_str());
  }
}

asio::awaitable<std::unique_ptr<Transport>> accept_stream(
    asio::ip::tcp::socket socket) {
  co_return std::make_unique<StreamTransport<asio::ip::tcp::socket>>(
      std::move(socket));
}

template <class Protocol>
Result<asio::basic_socket_acceptor<Protocol>> listen(
    asio::io_context& io,
    const typename Protocol::endpoint& endpoint) {
  boost::system::error_code error;
  asio::basic_socket_acceptor<Protocol> acceptor(io);
  acceptor.open(endpoint.protocol(), error);
  if (!error && std::same_as<Protocol, asio::ip::tcp>) {
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
  }
  if (!error) {
    const mode_t before = ::umask(0177);  // a socket's file: 0600
    acceptor.bind(endpoint, error);
    ::umask(before);
  }
  if (!error) {
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    std::string what = "cannot listen at " + to_text(endpoint);
    errno = error.value();
    return fail_errno(std::move(what));
  }
  return acceptor;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::open(DebugSession::Machine machine,
                                             const ListenAddress& address,
                                             std::string token,
                                             std::optional<Tls> tls) {
  if (const auto* path = std::get_if<Unix::endpoint>(&address)) {
    remove_stale(machine.io, *path);
    auto acceptor = TRY(listen<Unix>(machine.io, *path));
    return std::unique_ptr<Server>(
        new Server(machine, std::move(acceptor), false, std::move(token), {}));
  }
  const auto* const web = std::get_if<WebSocketAddress>(&address);
  const auto& endpoint =
      web != nullptr ? web->endpoint : std::get<Tcp::endpoint>(address);
  auto acceptor = TRY(listen<Tcp>(machine.io, endpoint));
  return std::unique_ptr<Server>(new Server(machine, std::move(acceptor),
                                            web != nullptr, std::move(token),
                                            std::move(tls)));
}

Server::Server(DebugSession::Machine machine,
               Acceptor acceptor,
               bool websocket,
               std::string token,
               std::optional<Tls> tls)
    : machine_(machine),
      acceptor_(std::move(acceptor)),
      websocket_(websocket),
      token_(std::move(token)),
      tls_(std::move(tls)),
      left_(machine.io),
      running_(machine.io.get_executor()) {
  machine_.left = &left_;
}

Server::~Server() = default;

ListenAddress Server::address() const {
  if (const auto* local = std::get_if<Unix::acceptor>(&acceptor_)) {
    return local->local_endpoint();
  }
  const auto endpoint = std::get<Tcp::acceptor>(acceptor_).local_endpoint();
  return websocket_ ? ListenAddress(WebSocketAddress{endpoint}) : endpoint;
}

asio::awaitable<void> Server::run() {
  const ListenAddress where = address();
  co_await std::visit([this](auto& acceptor) { return accept(acceptor); },
                      acceptor_);
  if (const auto* path = std::get_if<Unix::endpoint>(&where)) {
    ::unlink(path->path().c_str());
  }
  co_await running_.join();
  co_await left_.join();
}

void Server::stop() {
  stopped_ = true;
  std::visit([](auto& acceptor) { acceptor.close(); }, acceptor_);
  for (DebugSession* const session : sessions_) {
    session->stop();
  }
  left_.stop();
}

template <class Protocol>
asio::awaitable<void> Server::accept(
    asio::basic_socket_acceptor<Protocol>& acceptor) {
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(as_result);
    if (error) {  // out of descriptors: not so again at once
      asio::steady_timer breath(machine_.io, kBreath);
      co_await breath.async_wait(as_result);
      continue;
    }
    if (running_.running() - strangers_.count() >= kMostSessions) {
      log::warn(log::Area::Server, "too many sessions: a connection is closed");
      continue;
    }
    const bool trusted = !tls_ && is_trusted(user_of(socket));
    if constexpr (std::same_as<Protocol, Tcp>) {
      notice_lost_peer(socket.native_handle());
    } else if (!trusted) {
      log::warn(log::Area::Server, "another user's connection is refused");
      continue;
    }
    running_.spawn(serve(std::move(socket),
                         trusted ? nullptr
                                 : std::make_unique<Strangers::One>(
                                       strangers_, socket.native_handle())));
  }
}

template <class Socket>
asio::awaitable<void> Server::serve(Socket socket,
                                    std::unique_ptr<Strangers::One> stranger) {
  std::unique_ptr<Transport> transport;
  if constexpr (std::same_as<Socket, Tcp::socket>) {
    transport = co_await shake_hands(std::move(socket));
    if (!transport || stopped_) {
      co_return;
    }
  } else {
    transport = std::make_unique<StreamTransport<Socket>>(std::move(socket));
  }
  DebugSession session(machine_, std::move(transport));
  session.guard(stranger ? token_ : std::string(), [&] { stranger.reset(); });
  sessions_.insert(&session);
  co_await session.run();
  sessions_.erase(&session);
}

asio::awaitable<std::unique_ptr<Transport>> Server::shake_hands(
    Tcp::socket socket) const {
  if (websocket_) {
    return tls_ ? accept_websocket(std::move(socket), *tls_)
                : accept_websocket(std::move(socket));
  }
  return tls_ ? accept_tls(std::move(socket), *tls_)
              : accept_stream(std::move(socket));
}

}  // namespace hangdbg
