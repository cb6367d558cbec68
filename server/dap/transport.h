// Transport: the way to one DAP client, message by message.
//
// Threads: only the one that runs the io_context. One reads, one writes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

// What editors send is small; a file that is to be evaluated is the most.
inline constexpr std::size_t kLargestRequest = std::size_t{8} << 20;

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // The text of the next message; nothing at the stream's end. Errors:
  // BadMessage, and there is no way on then.
  virtual boost::asio::awaitable<Result<std::optional<std::string>>> read() = 0;

  // Errors: TimedOut, ChannelClosed.
  virtual boost::asio::awaitable<Status> write(std::string text,
                                               Deadline deadline) = 0;

  // Says that nothing more comes, where there is a word for that.
  virtual boost::asio::awaitable<void> finish() { co_return; }

  // Of what is read from now on; before, kLargestRequest.
  virtual void set_largest_message(std::size_t bytes) = 0;

  // Ends what is under way.
  virtual void close() = 0;
};

}  // namespace hangdbg
