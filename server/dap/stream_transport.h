// StreamTransport: messages with their length in front, in a stream of bytes:
// a pair of pipes, a socket.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "protocol/framing.h"
#include "server/coroutines/as_result.h"
#include "server/dap/transport.h"

namespace hangdbg {

template <class Stream>
class StreamTransport final : public Transport {
 public:
  // Without an output, the input is for both directions.
  explicit StreamTransport(Stream input, std::optional<Stream> output = {})
      : input_(std::move(input)),
        output_(std::move(output)),
        write_timer_(input_.get_executor()) {}

  boost::asio::awaitable<Result<std::optional<std::string>>> read() override {
    for (;;) {
      auto whole = decoder_.next();
      if (!whole || *whole) {
        co_return whole;
      }
      const auto [error, size] = co_await input_.async_read_some(
          boost::asio::buffer(chunk_),
          boost::asio::as_tuple(boost::asio::use_awaitable));
      if (error) {
        co_return std::nullopt;
      }
      decoder_.feed({chunk_.data(), size});
    }
  }

  boost::asio::awaitable<Status> write(std::string text,
                                       Deadline deadline) override {
    using boost::asio::experimental::awaitable_operators::operator||;
    const std::string bytes = dap::frame(text);
    write_timer_.expires_at(deadline.at());
    const auto first =
        co_await (boost::asio::async_write(output(), boost::asio::buffer(bytes),
                                           as_result) ||
                  write_timer_.async_wait(as_result));
    if (first.index() == 1) {
      co_return fail(ErrorId::TimedOut, "the client does not read");
    }
    if (std::get<0>(std::get<0>(first))) {
      co_return fail(ErrorId::ChannelClosed, "the client has gone");
    }
    co_return Status();
  }

  void set_largest_message(std::size_t bytes) override {
    decoder_.set_body_limit(bytes);
  }

  void close() override {
    boost::system::error_code ignored;
    input_.lowest_layer().close(ignored);
    output().lowest_layer().close(ignored);
  }

 private:
  Stream& output() { return output_ ? *output_ : input_; }

  Stream input_;
  std::optional<Stream> output_;
  boost::asio::steady_timer write_timer_;
  dap::FrameDecoder decoder_{kLargestRequest};
  std::array<char, 65536> chunk_;
};

}  // namespace hangdbg
