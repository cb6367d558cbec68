#include "server/dap/detached_children.h"
#include "server/coroutines/as_result.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

namespace hangdbg {
namespace asio = boost::asio;
namespace {

using asio::experimental::awaitable_operators::operator&&;
using asio::experimental::awaitable_operators::operator||;
using Stream = DetachedChildren::Stream;

asio::awaitable<void> drop_all(Stream& from) {
  std::array<char, 4096> chunk;
  for (bool more = from.is_open(); more;) {
    const auto [error, size] =
        co_await from.async_read_some(asio::buffer(chunk), as_result);
    more = !error;
  }
}

asio::awaitable<void> reap(Program& program, Stream& ended) {
  co_await ended.async_wait(Stream::wait_read, as_result);
  [[maybe_unused]] const auto code = program.ended();
}

}  // namespace

DetachedChildren::DetachedChildren(asio::io_context& io)
    : stopped_(io, asio::steady_timer::time_point::max()),
      keeping_(io.get_executor()) {}

void DetachedChildren::take(Program program,
                            Stream ended,
                            Stream out,
                            Stream err) {
  if (!stops_) {
    keeping_.spawn(keep(std::move(program), std::move(ended), std::move(out),
                        std::move(err)));
  }
}

void DetachedChildren::stop() {
  stops_ = true;
  stopped_.cancel();
}

// What it has started may print on when it has ended.
asio::awaitable<void> DetachedChildren::keep(Program program,
                                             Stream ended,
                                             Stream out,
                                             Stream err) {
  co_await ((drop_all(out) && drop_all(err) && reap(program, ended)) ||
            stopped_.async_wait(as_result));
}

}  // namespace hangdbg
