#include "server/dap/websocket_transport.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <tuple>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "server/dap/stream_transport.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
namespace {

using asio::experimental::awaitable_operators::operator||;
using Stream = websocket::stream<asio::ip::tcp::socket>;
using Upgrade = http::request<http::empty_body>;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

constexpr auto kHandshake = std::chrono::seconds(2);
constexpr std::size_t kLargestHeader = 8192;

class WebSocketTransport final : public Transport {
 public:
  explicit WebSocketTransport(asio::ip::tcp::socket socket)
      : stream_(std::move(socket)), write_timer_(stream_.get_executor()) {
    // With pings: a peer that is silent for five minutes has gone.
    stream_.set_option(websocket::stream_base::timeout::suggested(
        boost::beast::role_type::server));
    stream_.read_message_max(kLargestRequest);
    stream_.text(true);
    stream_.auto_fragment(false);  // it would be in pieces of 4 KiB
  }

  asio::awaitable<bool> accept(const Upgrade& request) {
    const auto [error] = co_await stream_.async_accept(request, as_result);
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

  void close() override {
    boost::system::error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  Stream stream_;
  asio::steady_timer write_timer_;
};

bool may_upgrade(const Upgrade& request) {
  return websocket::is_upgrade(request) &&
         request.count(http::field::origin) == 0 &&
         request.count(http::field::host) == 1 &&
         is_loopback_host(request[http::field::host]);
}

asio::awaitable<void> refuse(asio::ip::tcp::socket& socket) {
  http::response<http::empty_body> response(http::status::forbidden, 11);
  response.keep_alive(false);
  response.prepare_payload();
  http::response_serializer<http::empty_body> serializer(response);
  co_await http::async_write(socket, serializer, as_result);
}

asio::awaitable<std::unique_ptr<Transport>> shake_hands(
    asio::ip::tcp::socket socket) {
  boost::beast::flat_buffer buffer(kLargestHeader);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kLargestHeader);
  const auto [error, size] =
      co_await http::async_read_header(socket, buffer, parser, as_result);
  if (error) {
    co_return nullptr;
  }
  const Upgrade request = parser.release();
  if (!may_upgrade(request)) {
    log::warn(log::Area::Server, "a connection is refused: Origin or Host");
    co_await refuse(socket);
    co_return nullptr;
  }
  auto transport = std::make_unique<WebSocketTransport>(std::move(socket));
  if (!co_await transport->accept(request)) {
    co_return nullptr;
  }
  co_return transport;
}

}  // namespace

asio::awaitable<std::unique_ptr<Transport>> accept_websocket(
    asio::ip::tcp::socket socket) {
  asio::steady_timer patience(socket.get_executor(), kHandshake);
  auto first = co_await (shake_hands(std::move(socket)) ||
                         patience.async_wait(as_result));
  if (first.index() == 1) {
    co_return nullptr;
  }
  co_return std::get<0>(std::move(first));
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
