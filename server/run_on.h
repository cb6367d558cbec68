// What would hold up a coroutine's thread is done on another executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>

namespace hangdbg {

// Comes back with what `work` returns.
template <class Work>
auto run_on(boost::asio::any_io_executor executor, Work work)
    -> boost::asio::awaitable<std::invoke_result_t<Work>> {
  const auto task =
      [&work]() -> boost::asio::awaitable<std::invoke_result_t<Work>> {
    co_return work();
  };
  co_return co_await boost::asio::co_spawn(executor, task(),
                                           boost::asio::use_awaitable);
}

}  // namespace hangdbg
