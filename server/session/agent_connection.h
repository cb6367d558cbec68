// AgentConnection: the two channels to an agent as coroutines - typed DAP
// requests and events on one, control records on the other.
//
// The DAP channel is read all the time that the io_context runs: an answer goes
// to the call that waits for it, an event to next_event(). Events that are not
// taken wait here, up to a limit, the others in the channel and then in the
// agent.
//
// One call at a time: the executor in the target answers in order. Threads:
// only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/channels.h"
#include "protocol/framing.h"
#include "protocol/message.h"
#include "server/coroutines/queue.h"

namespace hangdbg {

class AgentConnection : public std::enable_shared_from_this<AgentConnection> {
 public:
  // Begins to read. `pid` is the target's, whose end is seen as well: a child
  // that it has forked may hold the agent's ends open, so the channels alone
  // do not tell.
  static std::shared_ptr<AgentConnection> open(boost::asio::io_context& io,
                                               Channels channels,
                                               int pid);

  // Closes the channels. Its coroutines keep the connection until they have
  // seen that.
  void close();

  // `request`'s seq is set here. Errors: ChannelClosed; BadMessage;
  // AgentFailed, with what kept the agent from running; TimedOut: the answer
  // may still come, and wait_on() gets it.
  boost::asio::awaitable<Result<dap::Response>> call(dap::Request request,
                                                     Deadline deadline);

  // Waits on for the answer to the call that timed out.
  boost::asio::awaitable<Result<dap::Response>> wait_on(Deadline deadline);

  // Whether it is there.
  bool answered() const { return answer_.has_value(); }

  // Makes a running call() return TimedOut now.
  void stop_waiting();

  // Nothing: time is up, or the connection is over.
  boost::asio::awaitable<std::optional<dap::Event>> next_event(
      Deadline deadline);

  int descriptor() { return dap_read_.native_handle(); }

  enum class Over { No, ChannelClosed, TargetEnded };
  Over over() const { return over_; }

  // What the executor does right now. Errors: ChannelClosed, TimedOut.
  boost::asio::awaitable<Result<HdExecutorStage>> stage(Deadline deadline);

  // The next call does not wait for the evaluation in this one, which was
  // cancelled and does not react. No: not now. Errors: those of stage().
  boost::asio::awaitable<Result<bool>> give_up(Deadline deadline);

  // HD_CONTROL_CANCEL, HD_CONTROL_ENTER_NOW or HD_CONTROL_INTERPRETER.
  Status tell(HdControlKind kind, std::uint32_t value = 0);

  // The number of the call that is or was under way, and of the next: what
  // HD_CONTROL_ENTER_NOW and HD_CONTROL_CANCEL are for.
  std::uint32_t call_number() const {
    return static_cast<std::uint32_t>(waiting_for_);
  }
  std::uint32_t next_number() const {
    return static_cast<std::uint32_t>(next_seq_);
  }

 private:
  using Stream = boost::asio::posix::stream_descriptor;

  AgentConnection(boost::asio::io_context& io, Channels channels, int pid);
  // Why nothing comes any more.
  std::unexpected<Error> closed() const;
  boost::asio::awaitable<Result<dap::Response>> answer(Deadline deadline);
  boost::asio::awaitable<void> read_all();
  boost::asio::awaitable<void> watch_end();
  boost::asio::awaitable<Result<std::string>> receive();
  boost::asio::awaitable<void> deliver(dap::Message message);
  void answer_with(Result<dap::Response> answer);
  void end(Over how);
  boost::asio::awaitable<Result<std::uint32_t>> ask_control(
      HdControlKind question,
      std::uint32_t value,
      HdControlKind answer,
      Deadline deadline);
  boost::asio::awaitable<Status> send(std::string bytes, Deadline deadline);

  Stream dap_read_;
  Stream dap_write_;
  Stream control_read_;
  Fd control_write_;
  Stream end_;  // readable when the target has ended; not before Linux 5.3
  boost::asio::steady_timer answer_came_;
  boost::asio::steady_timer write_timer_;
  boost::asio::steady_timer control_timer_;
  dap::FrameDecoder decoder_;
  Queue<dap::Event> events_;
  std::optional<Result<dap::Response>> answer_;  // to waiting_for_
  std::optional<Error> failure_;  // why the agent has left, when it has said so
  std::int64_t next_seq_ = 1;
  std::int64_t waiting_for_ = 0;
  bool stopped_ = false;
  Over over_ = Over::No;
};

}  // namespace hangdbg
