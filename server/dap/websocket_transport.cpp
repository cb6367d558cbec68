#include "server/dap/websocket_transport.h"
#include "server/coroutines/as_result.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <tuple>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "server/dap/link.h"
#include "server/dap/stream_transport.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
namespace {

using asio::experimental::awaitable_operators::operator||;
using Upgrade = http::request<http::empty_body>;

constexpr auto kWebsocketTransportHandshake = std::chrono::seconds(5);
constexpr std::size_t kLargestHeader = 8192;
constexpr bool kMayCompress = false;  // not requested

class WebSocketTransport final : public Transport {
 public:
  WebSocketTransport(Link below, boost::beast::role_type role)
      : stream_(std::move(below)), write_timer_(stream_.get_executor()) {
    // With pings: a peer that is silent for five minutes has gone.
    stream_.set_option(websocket::stream_base::timeout::suggested(role));
    stream_.read_message_max(kLargestRequest);
    stream_.text(true);
    stream_.auto_fragment(false);  // it would be in pieces of 4 KiB
  }

  asio::awaitable<bool> accept(const Upgrade& request) {
    const auto [error] = co_await stream_.async_accept(request, as_result);
    co_return !error;
  }

  asio::awaitable<bool> connect(std::string host) {
    const auto [error] = co_await stream_.async_handshake(host, "/", as_result);
    co_return !error;
  }

  asio::awaitable<Result<std::optional<std::string>>> read() override {
    boost::beast::flat_buffer buffer;
    const auto [error, size] = co_await stream_.async_read(buffer, as_result);
    if (error == websocket::error::message_too_big ||
        (!error && !stream_.got_text())) {
      co_return fail(ErrorId::BadMessage, "no text message, or a large one");
    }
    if (error) {
      co_return std::nullopt;
    }
    co_return boost::beast::buffers_to_string(buffer.data());
  }

  asio::awaitable<Status> write(std::string text, Deadline deadline) override {
    write_timer_.expires_at(deadline.at());
    const auto first =
        co_await (stream_.async_write(asio::buffer(text), as_result) ||
                  write_timer_.async_wait(as_result));
    if (first.index() == 1) {
      co_return fail(ErrorId::TimedOut, "the client does not read");
    }
    if (std::get<0>(std::get<0>(first))) {
      co_return fail(ErrorId::ChannelClosed, "the client has gone");
    }
    co_return Status();
  }

  asio::awaitable<void> finish() override {
    co_await stream_.async_close(websocket::close_code::normal, as_result);
  }

  void set_largest_message(std::size_t bytes) override {
    stream_.read_message_max(bytes);
  }

  void close() override { beast_close_socket(stream_.next_layer()); }

 private:
  websocket::stream<Link, kMayCompress> stream_;
  asio::steady_timer write_timer_;
};

bool may_upgrade(const Upgrade& request, bool encrypted) {
  return websocket::is_upgrade(request) &&
         request.count(http::field::origin) == 0 &&
         request.count(http::field::host) == 1 &&
         (encrypted || is_loopback_host(request[http::field::host]));
}

asio::awaitable<void> refuse(Link& below) {
  static constexpr std::string_view kForbidden =
      "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: "
      "0\r\n\r\n";
  co_await asio::async_write(below, asio::buffer(kForbidden), as_result);
}

asio::awaitable<std::unique_ptr<Transport>> upgrade(Link below) {
  boost::beast::flat_buffer buffer(kLargestHeader);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kLargestHeader);
  const auto [error, size] =
      co_await http::async_read_header(below, buffer, parser, as_result);
  if (error) {
    co_return nullptr;
  }
  const Upgrade request = parser.release();
  if (!may_upgrade(request, below.encrypted())) {
    log::warn(log::Area::Server, "a connection is refused: Origin or Host");
    co_await refuse(below);
    co_return nullptr;
  }
  auto transport = std::make_unique<WebSocketTransport>(
      std::move(below), boost::beast::role_type::server);
  if (!co_await transport->accept(request)) {
    co_return nullptr;
  }
  co_return transport;
}

asio::awaitable<std::unique_ptr<Transport>> encrypt_and_upgrade(
    Link::Encrypted stream) {
  const auto [error] =
      co_await stream.async_handshake(Link::Encrypted::server, as_result);
  if (error) {
    log::info(log::Area::Server, "no TLS: {}", error.message());
    co_return nullptr;
  }
  co_return co_await upgrade(Link(std::move(stream)));
}

asio::awaitable<std::unique_ptr<Transport>> run_with_deadline(
    asio::any_io_executor executor,
    asio::awaitable<std::unique_ptr<Transport>> handshake) {
  asio::steady_timer patience(executor, kWebsocketTransportHandshake);
  auto first =
      co_await (std::move(handshake) || patience.async_wait(as_result));
  if (first.index() == 1) {
    co_return nullptr;
  }
  co_return std::get<0>(std::move(first));
}

asio::awaitable<Result<std::unique_ptr<Transport>>> ask_for_upgrade(
    Link below) {
  boost::system::error_code gone;
  const auto server = below.socket().remote_endpoint(gone);
  std::string host = server.address().to_string();
  if (server.address().is_v6()) {
    host = "[" + host + "]";
  }
  host += ":" + std::to_string(server.port());
  auto transport = std::make_unique<WebSocketTransport>(
      std::move(below), boost::beast::role_type::client);
  const bool upgraded = co_await transport->connect(host);
  if (!upgraded) {
    co_return fail(ErrorId::ChannelClosed, "the server speaks no WebSocket");
  }
  co_return transport;
}

}  // namespace

asio::awaitable<std::unique_ptr<Transport>> accept_websocket(
    asio::ip::tcp::socket socket) {
  const asio::any_io_executor executor = socket.get_executor();
  return run_with_deadline(executor, upgrade(Link(std::move(socket))));
}

asio::awaitable<std::unique_ptr<Transport>> accept_websocket(
    asio::ip::tcp::socket socket,
    const Tls& tls) {
  const asio::any_io_executor executor = socket.get_executor();
  return run_with_deadline(executor, encrypt_and_upgrade(Link::Encrypted(
                                         std::move(socket), tls.context())));
}

asio::awaitable<Result<std::unique_ptr<Transport>>> connect_websocket(
    asio::ip::tcp::socket socket,
    const std::optional<Tls>& tls) {
  if (!tls) {
    co_return co_await ask_for_upgrade(Link(std::move(socket)));
  }
  Link::Encrypted stream(std::move(socket), tls->context());
  const auto [error] =
      co_await stream.async_handshake(Link::Encrypted::client, as_result);
  if (error) {
    co_return handshake_failed(error);
  }
  co_return co_await ask_for_upgrade(Link(std::move(stream)));
}

bool is_loopback_host(std::string_view host) {
  const bool in_brackets = host.starts_with('[');
  const auto end = host.find(in_brackets ? ']' : ':');
  std::string_view rest =
      end == host.npos ? std::string_view() : host.substr(end);
  if (in_brackets) {
    if (rest.empty()) {
      return false;
    }
    rest.remove_prefix(1);
  }
  if (!rest.empty() && (!rest.starts_with(':') ||
                        !parse_number<std::uint16_t>(rest.substr(1)))) {
    return false;
  }
  const auto name = in_brackets ? host.substr(1, end - 1) : host.substr(0, end);
  boost::system::error_code error;
  const auto address = asio::ip::make_address(name, error);
  return !error && address.is_loopback() && !name.contains('%');
}

}  // namespace hangdbg
