// What would hold up a coroutine's thread is done on another executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace hangdbg {

boost::asio::awaitable<void> run_on(boost::asio::any_io_executor executor,
                                    std::move_only_function<void()> work);

// Comes back with what `work` returns. (What the compiler makes of co_spawn is
// made once, for the function above.)
template <class Work>
auto result_on(boost::asio::any_io_executor executor, Work work)
    -> boost::asio::awaitable<std::invoke_result_t<Work>> {
  std::optional<std::invoke_result_t<Work>> result;
  co_await run_on(std::move(executor), [&] { result.emplace(work()); });
  co_return *std::move(result);
}

}  // namespace hangdbg
