// How our coroutines wait for Asio: an error is a value, not an exception.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace hangdbg {

inline constexpr auto as_result =
    boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace hangdbg
