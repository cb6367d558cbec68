// ThreadWatch: threads that come and go, of which an editor is told.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <set>
#include <string>

namespace hangdbg {

class DebugSession;

class ThreadWatch {
 public:
  explicit ThreadWatch(DebugSession& session) : session_(session) {}

  // As the editor was told of them last.
  void know(std::set<std::int64_t> threads) { known_ = std::move(threads); }

  // Until the session's end.
  boost::asio::awaitable<void> follow();

 private:
  boost::asio::awaitable<void> compare();
  boost::asio::awaitable<void> tell(std::string what, std::int64_t thread);

  DebugSession& session_;
  std::set<std::int64_t> known_;
};

}  // namespace hangdbg
