// AgentConnection: the two channels to an agent as coroutines - typed DAP
// requests on one, control records on the other.
//
// One call at a time: the executor in the target answers in order. Threads:
// only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/channels.h"
#include "protocol/framing.h"
#include "protocol/message.h"

namespace hangdbg {

class AgentConnection {
 public:
  AgentConnection(boost::asio::io_context& io, Channels channels);

  // `request`'s seq is set here. Errors: ChannelClosed; BadMessage;
  // AgentFailed, with what kept the agent from running; TimedOut: the answer
  // may still come and is then dropped.
  boost::asio::awaitable<Result<dap::Response>> call(dap::Request request,
                                                     Deadline deadline);

  // Waits on for the answer to the call that timed out.
  boost::asio::awaitable<Result<dap::Response>> wait_on(Deadline deadline);

  // What the executor does right now. Errors: ChannelClosed, TimedOut.
  boost::asio::awaitable<Result<HdExecutorStage>> stage(Deadline deadline);

  // The number of the call that is or was under way, and of the next: what
  // HD_CONTROL_ENTER_NOW is for.
  std::uint32_t call_number() const {
    return static_cast<std::uint32_t>(waiting_for_);
  }
  std::uint32_t next_number() const {
    return static_cast<std::uint32_t>(next_seq_);
  }

  // HD_CONTROL_CANCEL, HD_CONTROL_ENTER_NOW or HD_CONTROL_INTERPRETER.
  Status tell(HdControlKind kind, std::uint32_t value = 0);

  // Makes a running call() return TimedOut now.
  void stop_waiting();

  std::function<void(const dap::Event&)> on_event;

 private:
  boost::asio::awaitable<Result<dap::Response>> answer(Deadline deadline);
  boost::asio::awaitable<Status> send(std::string bytes, Deadline deadline);
  boost::asio::awaitable<Result<dap::Message>> receive(Deadline deadline);

  boost::asio::posix::stream_descriptor dap_read_;
  boost::asio::posix::stream_descriptor dap_write_;
  boost::asio::posix::stream_descriptor control_read_;
  Fd control_write_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer control_timer_;
  dap::FrameDecoder decoder_;
  std::int64_t next_seq_ = 1;
  std::int64_t waiting_for_ = 0;
  bool stopped_ = false;
};

}  // namespace hangdbg
