#include "server/coroutines/run_on.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace hangdbg {
namespace {

boost::asio::awaitable<void> run(std::move_only_function<void()> work) {
  work();
  co_return;
}

}  // namespace

boost::asio::awaitable<void> run_on(boost::asio::any_io_executor executor,
                                    std::move_only_function<void()> work) {
  co_await boost::asio::co_spawn(std::move(executor), run(std::move(work)),
                                 boost::asio::use_awaitable);
}

}  // namespace hangdbg
