#include "server/dap/tls_transport.h"
#include "server/coroutines/as_result.h"

#include <boost/asio/ssl/stream.hpp>

#include "base/log.h"
#include "server/dap/stream_transport.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

using asio::experimental::awaitable_operators::operator||;
using TlsStream = asio::ssl::stream<asio::ip::tcp::socket>;

constexpr auto kHandshake = std::chrono::seconds(5);

}  // namespace

asio::awaitable<std::unique_ptr<Transport>> accept_tls(
    asio::ip::tcp::socket socket,
    const Tls& tls) {
  TlsStream stream(std::move(socket), tls.context());
  asio::steady_timer patience(stream.get_executor(), kHandshake);
  const auto first =
      co_await (stream.async_handshake(TlsStream::server, as_result) ||
                patience.async_wait(as_result));
  if (first.index() == 1) {
    co_return nullptr;
  }
  if (const auto [error] = std::get<0>(first); error) {
    log::info(log::Area::Server, "no TLS: {}", error.message());
    co_return nullptr;
  }
  co_return std::make_unique<StreamTransport<TlsStream>>(std::move(stream));
}

asio::awaitable<Result<std::unique_ptr<Transport>>> connect_tls(
    asio::ip::tcp::socket socket,
    const Tls& tls) {
  TlsStream stream(std::move(socket), tls.context());
  const auto [error] =
      co_await stream.async_handshake(TlsStream::client, as_result);
  if (error) {
    co_return handshake_failed(error);
  }
  co_return std::make_unique<StreamTransport<TlsStream>>(std::move(stream));
}

}  // namespace hangdbg
