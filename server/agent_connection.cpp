#include "server/agent_connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/log.h"
#include "protocol/events/failure.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

std::unexpected<Error> closed() {
  return fail(ErrorId::ChannelClosed, "the connection to the target is gone",
              "the process may have ended, or started another program");
}

// Cancels what the descriptor does when the deadline passes; must not outlive
// the wait that it guards.
class Guard {
 public:
  Guard(asio::steady_timer& timer,
        asio::posix::stream_descriptor& guarded,
        Deadline deadline)
      : timer_(timer) {
    timer_.expires_at(deadline.at());
    timer_.async_wait([&guarded](boost::system::error_code error) {
      if (!error) {
        guarded.cancel();
      }
    });
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { timer_.cancel(); }

 private:
  asio::steady_timer& timer_;
};

}  // namespace

AgentConnection::AgentConnection(asio::io_context& io, Channels channels)
    : dap_read_(io, channels.dap.read.release()),
      dap_write_(io, channels.dap.write.release()),
      control_read_(io, channels.control.read.release()),
      control_write_(std::move(channels.control.write)),
      timer_(io),
      control_timer_(io) {}

asio::awaitable<Result<dap::Response>> AgentConnection::call(
    dap::Request request,
    Deadline deadline) {
  stopped_ = false;
  request.seq = waiting_for_ = next_seq_++;
  const std::string text = dap::to_text(request);
  log::trace(log::Area::Dap, "-> {}", text);
  if (const Status sent = co_await send(dap::frame(text), deadline); !sent) {
    co_return std::unexpected(sent.error());
  }
  co_return co_await answer(deadline);
}

asio::awaitable<Result<dap::Response>> AgentConnection::wait_on(
    Deadline deadline) {
  stopped_ = false;
  co_return co_await answer(deadline);
}

asio::awaitable<Result<dap::Response>> AgentConnection::answer(
    Deadline deadline) {
  for (;;) {
    auto message = co_await receive(deadline);
    if (!message) {
      co_return std::unexpected(message.error());
    }
    if (auto* response = std::get_if<dap::Response>(&*message)) {
      if (response->request_seq == waiting_for_) {
        co_return std::move(*response);
      }
    } else if (const auto* event = std::get_if<dap::Event>(&*message)) {
      if (event->event == dap::Failure::event) {
        const auto failure = dap::body_of<dap::Failure>(*event);
        co_return fail(ErrorId::AgentFailed,
                       "the agent could not run in the target: " +
                           (failure ? failure->reason : "no reason given"));
      }
      if (on_event) {
        on_event(*event);
      }
    }
  }
}

asio::awaitable<Result<HdExecutorStage>> AgentConnection::stage(
    Deadline deadline) {
  if (const Status asked = tell(HD_CONTROL_STATUS); !asked) {
    co_return std::unexpected(asked.error());
  }
  const Guard guard(control_timer_, control_read_, deadline);
  for (;;) {
    HdControlRecord record{};
    const auto [error, size] = co_await control_read_.async_read_some(
        asio::buffer(&record, sizeof record), as_result);
    if (error == asio::error::operation_aborted) {
      co_return fail(ErrorId::TimedOut, "the agent's control thread is silent");
    }
    if (error || size != sizeof record) {
      co_return closed();
    }
    if (record.kind == HD_CONTROL_STAGE) {
      co_return static_cast<HdExecutorStage>(record.value);
    }
  }
}

Status AgentConnection::tell(HdControlKind kind, std::uint32_t value) {
  const HdControlRecord record{static_cast<std::uint32_t>(kind), value};
  if (::write(control_write_.get(), &record, sizeof record) != sizeof record) {
    return closed();
  }
  return {};
}

void AgentConnection::stop_waiting() {
  stopped_ = true;
  dap_read_.cancel();
}

asio::awaitable<Status> AgentConnection::send(std::string bytes,
                                              Deadline deadline) {
  const Guard guard(timer_, dap_write_, deadline);
  const auto [error, size] =
      co_await asio::async_write(dap_write_, asio::buffer(bytes), as_result);
  if (error == asio::error::operation_aborted) {
    co_return fail(ErrorId::TimedOut, "the agent does not read");
  }
  if (error) {
    co_return closed();
  }
  co_return Status();
}

asio::awaitable<Result<dap::Message>> AgentConnection::receive(
    Deadline deadline) {
  char chunk[65536];
  for (;;) {
    const auto whole = decoder_.next();
    if (!whole) {
      co_return std::unexpected(whole.error());
    }
    if (*whole) {
      log::trace(log::Area::Dap, "<- {}", **whole);
      co_return dap::parse_message(**whole);
    }
    if (stopped_) {
      co_return fail(ErrorId::TimedOut, "stopped waiting");
    }
    const Guard guard(timer_, dap_read_, deadline);
    const auto [error, size] =
        co_await dap_read_.async_read_some(asio::buffer(chunk), as_result);
    if (error == asio::error::operation_aborted) {
      co_return fail(ErrorId::TimedOut, "no answer in time");
    }
    if (error) {
      co_return closed();
    }
    decoder_.feed({chunk, size});
  }
}

}  // namespace hangdbg
