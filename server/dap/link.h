#pragma once
// A connection with TLS or without, as one type: what Beast makes of a stream
// is compiled once.

#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <utility>
#include <variant>

namespace hangdbg {

// Meets AsyncStream of Asio and, with the functions below, what Beast's
// WebSocket asks of the layer below it.
class Link {
 public:
  using Plain = boost::asio::ip::tcp::socket;
  using Encrypted = boost::asio::ssl::stream<Plain>;
  using executor_type = Plain::executor_type;

  explicit Link(Plain socket) : stream_(std::move(socket)) {}
  explicit Link(Encrypted stream) : stream_(std::move(stream)) {}

  bool encrypted() const { return std::holds_alternative<Encrypted>(stream_); }

  Plain& socket() {
    auto* const plain = std::get_if<Plain>(&stream_);
    return plain ? *plain : std::get<Encrypted>(stream_).next_layer();
  }

  executor_type get_executor() { return socket().get_executor(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, Moved>(
        [this](auto&& handler, const Buffers& to) {
          on_stream([&](auto& stream) {
            stream.async_read_some(to,
                                   std::forward<decltype(handler)>(handler));
          });
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, Moved>(
        [this](auto&& handler, const Buffers& from) {
          on_stream([&](auto& stream) {
            stream.async_write_some(from,
                                    std::forward<decltype(handler)>(handler));
          });
        },
        token, buffers);
  }

  // The end of a WebSocket, as the side of the connection that `role` says.
  template <class Handler>
  void async_teardown_as(boost::beast::role_type role, Handler&& handler) {
    on_stream([&](auto& stream) {
      using boost::beast::websocket::async_teardown;
      async_teardown(role, stream, std::forward<Handler>(handler));
    });
  }

 private:
  using Moved = void(boost::system::error_code, std::size_t);

  template <class Use>
  void on_stream(Use use) {
    std::visit(use, stream_);
  }

  std::variant<Plain, Encrypted> stream_;
};

template <class Handler>
void async_teardown(boost::beast::role_type role,
                    Link& link,
                    Handler&& handler) {
  link.async_teardown_as(role, std::forward<Handler>(handler));
}

inline void beast_close_socket(Link& link) {
  boost::system::error_code ignored;
  link.socket().close(ignored);
}

}  // namespace hangdbg
