// Questions: what we have asked an editor (reverse requests), until it answers.
//
//   Questions::Asked asked(questions, number, "startDebugging");
//   co_await ...;  // sends it
//   const auto response = co_await asked.answer();
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "protocol/message.h"

namespace hangdbg {

class DebugSession;

class Questions {
 public:
  class Asked {
   public:
    Asked(Questions& questions, std::int64_t number, std::string command);
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;
    ~Asked();

    // Errors: TimedOut; ChannelClosed, at the session's end.
    boost::asio::awaitable<Result<dap::Response>> answer();

   private:
    friend Questions;
    Questions& questions_;
    std::int64_t number_;
    std::string command_;
    boost::asio::steady_timer came_;
    std::optional<dap::Response> answer_;
  };

  explicit Questions(DebugSession& session) : session_(session) {}

  // One to nothing that was asked is dropped.
  void take(dap::Response answer);

 private:
  DebugSession& session_;
  std::map<std::int64_t, Asked*> asked_;
};

}  // namespace hangdbg
