#include "server/dap/dial.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "server/coroutines/as_result.h"
#include "server/dap/access.h"
#include "server/dap/lost_peer.h"
#include "server/dap/stream_transport.h"
#include "server/dap/tls_transport.h"
#include "server/dap/websocket_transport.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

using asio::experimental::awaitable_operators::operator||;
using Unix = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;
using Reached = Result<std::unique_ptr<Transport>>;

std::unexpected<Error> not_there(const ListenAddress& address,
                                 const boost::system::error_code& error) {
  return fail(ErrorId::ChannelClosed,
              "cannot connect to " + to_text(address) + ": " + error.message(),
              "hangdbg serve --listen " + to_text(address) +
                  ", on the machine of the program");
}

std::unexpected<Error> of_a_stranger(const ListenAddress& address) {
  return fail(ErrorId::NotPermitted,
              to_text(address) +
                  " is not known to be yours or root's: the "
                  "token is not sent there",
              "--fingerprint, which `hangdbg serve` prints; or without the "
              "token: env -u HANGDBG_TOKEN hangdbg connect ...");
}

// Another process may have taken it before the server started.
bool is_ours(const Tcp::endpoint& endpoint) {
  const auto users = users_who_listen(endpoint);
  return !users.empty() && std::ranges::all_of(users, [](uid_t user) {
    return is_trusted(user);
  });
}

asio::awaitable<Reached> reach(asio::io_context& io,
                               const ListenAddress& address,
                               const std::optional<Tls>& tls,
                               Sends sends) {
  if (const auto* const path = std::get_if<Unix::endpoint>(&address)) {
    Unix::socket socket(io);
    const auto [error] = co_await socket.async_connect(*path, as_result);
    if (error) {
      co_return not_there(address, error);
    }
    if (sends == Sends::Secret &&
        !is_trusted(user_of_unix_peer(socket.native_handle()))) {
      co_return of_a_stranger(address);
    }
    co_return std::make_unique<StreamTransport<Unix::socket>>(
        std::move(socket));
  }
  const auto* const web = std::get_if<WebSocketAddress>(&address);
  const auto& endpoint =
      web != nullptr ? web->endpoint : std::get<Tcp::endpoint>(address);
  Tcp::socket socket(io);
  const auto [error] = co_await socket.async_connect(endpoint, as_result);
  if (error) {
    co_return not_there(address, error);
  }
  if (sends == Sends::Secret && !tls && !is_ours(endpoint)) {
    co_return of_a_stranger(address);
  }
  notice_lost_peer(socket.native_handle());
  if (web != nullptr) {
    co_return co_await connect_websocket(std::move(socket), tls);
  }
  if (tls) {
    co_return co_await connect_tls(std::move(socket), *tls);
  }
  co_return std::make_unique<StreamTransport<Tcp::socket>>(std::move(socket));
}

}  // namespace

asio::awaitable<Reached> dial(asio::io_context& io,
                              const ListenAddress& address,
                              const std::optional<Tls>& tls,
                              Sends sends,
                              Deadline deadline) {
  asio::steady_timer patience(io, deadline.at());
  auto first = co_await (reach(io, address, tls, sends) ||
                         patience.async_wait(as_result));
  if (first.index() == 1) {
    co_return fail(ErrorId::TimedOut, "no answer from " + to_text(address));
  }
  co_return std::get<0>(std::move(first));
}

}  // namespace hangdbg
