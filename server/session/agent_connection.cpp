#include "server/session/agent_connection.h"
#include "server/coroutines/as_result.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/fd.h"
#include "base/log.h"
#include "protocol/events/failure.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kMostEvents = 256;

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

std::shared_ptr<AgentConnection> AgentConnection::open(asio::io_context& io,
                                                       Channels channels,
                                                       int pid) {
  std::shared_ptr<AgentConnection> made(
      new AgentConnection(io, std::move(channels), pid));
  asio::co_spawn(io, made->read_all(), asio::detached);
  asio::co_spawn(io, made->watch_end(), asio::detached);
  return made;
}

AgentConnection::AgentConnection(asio::io_context& io,
                                 Channels channels,
                                 int pid)
    : dap_read_(io, channels.dap.read.release()),
      dap_write_(io, channels.dap.write.release()),
      control_read_(io, channels.control.read.release()),
      control_write_(std::move(channels.control.write)),
      end_(io),
      answer_came_(io),
      write_timer_(io),
      control_timer_(io),
      events_(io.get_executor(), kMostEvents) {
  if (Fd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); end) {
    end_.assign(end.release());
  }
}

std::unexpected<Error> AgentConnection::closed() const {
  return failure_ ? std::unexpected(*failure_)
                  : fail(ErrorId::ChannelClosed,
                         "the connection to the target is gone",
                         "the process may have ended, or started another "
                         "program");
}

void AgentConnection::close() {
  end(Over::ChannelClosed);
  for (Stream* stream : {&dap_read_, &dap_write_, &control_read_, &end_}) {
    boost::system::error_code ignored;
    stream->close(ignored);
  }
  control_write_.reset();
}

asio::awaitable<Result<dap::Response>> AgentConnection::call(
    dap::Request request,
    Deadline deadline) {
  request.seq = waiting_for_ = next_seq_++;
  answer_.reset();
  stopped_ = false;
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
  return answer(deadline);
}

asio::awaitable<Result<dap::Response>> AgentConnection::answer(
    Deadline deadline) {
  for (;;) {
    if (auto answer = std::exchange(answer_, std::nullopt)) {
      co_return *std::move(answer);
    }
    if (over_ != Over::No) {
      co_return closed();
    }
    if (stopped_ || deadline.expired()) {
      co_return fail(ErrorId::TimedOut, "no answer in time");
    }
    answer_came_.expires_at(deadline.at());
    co_await answer_came_.async_wait(as_result);
  }
}

void AgentConnection::stop_waiting() {
  stopped_ = true;
  answer_came_.cancel();
}

asio::awaitable<std::optional<dap::Event>> AgentConnection::next_event(
    Deadline deadline) {
  return events_.pop(deadline);
}

asio::awaitable<void> AgentConnection::read_all() {
  const auto self = shared_from_this();
  while (over_ == Over::No) {
    const auto text = co_await receive();
    if (!text) {
      end(Over::ChannelClosed);
      co_return;
    }
    log::trace(log::Area::Dap, "<- {}", *text);
    auto message = dap::parse_message(*text);
    if (!message) {
      answer_with(std::unexpected(message.error()));
    } else {
      co_await deliver(*std::move(message));
    }
  }
}

asio::awaitable<void> AgentConnection::watch_end() {
  const auto self = shared_from_this();
  if (!end_.is_open()) {
    co_return;
  }
  const auto [error] = co_await end_.async_wait(Stream::wait_read, as_result);
  if (!error) {
    end(Over::TargetEnded);
  }
}

asio::awaitable<Result<std::string>> AgentConnection::receive() {
  char chunk[65536];
  for (;;) {
    auto whole = decoder_.next();
    if (!whole) {
      co_return std::unexpected(whole.error());
    }
    if (*whole) {
      co_return **std::move(whole);
    }
    const auto [error, size] =
        co_await dap_read_.async_read_some(asio::buffer(chunk), as_result);
    if (error) {
      co_return closed();
    }
    decoder_.feed({chunk, size});
  }
}

asio::awaitable<void> AgentConnection::deliver(dap::Message message) {
  if (auto* response = std::get_if<dap::Response>(&message)) {
    // 0: the agent's last resort, with which it does not know what it was
    // asked.
    if (response->request_seq == waiting_for_ || response->request_seq == 0) {
      answer_with(std::move(*response));
    }
  } else if (auto* event = std::get_if<dap::Event>(&message)) {
    if (event->event != dap::Failure::event) {
      co_await events_.push(std::move(*event));
      co_return;
    }
    const auto failure = dap::body_of<dap::Failure>(*event);
    failure_ = Error{.id = ErrorId::AgentFailed,
                     .message = "the agent could not run in the target: " +
                                (failure ? failure->reason : "no reason given"),
                     .hint =
                         "hangdbg dump and hangdbg peek read it from "
                         "outside, and run nothing in it"};
    answer_with(closed());
  }
}

void AgentConnection::answer_with(Result<dap::Response> answer) {
  answer_ = std::move(answer);
  answer_came_.cancel();
}

// How it ended at first is what is told.
void AgentConnection::end(Over how) {
  if (over_ == Over::No) {
    over_ = how;
  }
  answer_came_.cancel();
  events_.close();
  boost::system::error_code ignored;
  control_read_.cancel(ignored);
}

asio::awaitable<Result<HdExecutorStage>> AgentConnection::stage(
    Deadline deadline) {
  const auto value =
      co_await ask_control(HD_CONTROL_STATUS, 0, HD_CONTROL_STAGE, deadline);
  if (!value) {
    co_return std::unexpected(value.error());
  }
  co_return static_cast<HdExecutorStage>(*value);
}

asio::awaitable<Result<bool>> AgentConnection::give_up(Deadline deadline) {
  const auto done = co_await ask_control(HD_CONTROL_GIVE_UP, call_number(),
                                         HD_CONTROL_GIVEN_UP, deadline);
  if (!done) {
    co_return std::unexpected(done.error());
  }
  co_return *done != 0;
}

asio::awaitable<Result<std::uint32_t>> AgentConnection::ask_control(
    HdControlKind question,
    std::uint32_t value,
    HdControlKind answer,
    Deadline deadline) {
  if (const Status asked = tell(question, value); !asked) {
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
    if (record.kind == answer) {
      co_return record.value;
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

asio::awaitable<Status> AgentConnection::send(std::string bytes,
                                              Deadline deadline) {
  const Guard guard(write_timer_, dap_write_, deadline);
  const auto [error, size] =
      co_await asio::async_write(dap_write_, asio::buffer(bytes), as_result);
  if (error == asio::error::operation_aborted) {
    if (size > 0) {  // it would take what comes next for the rest
      boost::system::error_code ignored;
      dap_write_.close(ignored);
    }
    co_return fail(ErrorId::TimedOut, "the agent does not read");
  }
  if (error) {
    co_return closed();
  }
  co_return Status();
}

}  // namespace hangdbg
