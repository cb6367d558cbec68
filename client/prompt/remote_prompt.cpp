#include "client/prompt/remote_prompt.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>

#include "protocol/base64.h"
#include "protocol/events/terminal_ended.h"
#include "protocol/events/terminal_output.h"
#include "protocol/requests/terminal/terminal_input.h"
#include "protocol/requests/terminal/terminal_resize.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr auto kNever = Deadline::Clock::duration(std::chrono::hours(24 * 365));
// How long the server may not read.
constexpr auto kRemotePatience = std::chrono::seconds(30);
constexpr std::size_t kMostMessages = 4;

// Ctrl-], as of telnet: the one key that is ours, should the server say
// nothing.
constexpr char kLeave = '\x1d';

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return fail_errno("output closed");
    }
  }
  return {};
}

}  // namespace

RemotePrompt::RemotePrompt(asio::io_context& io,
                           std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      messages_(io.get_executor(), kMostMessages),
      tasks_(io.get_executor()),
      input_(io),
      ends_(io, SIGINT, SIGTERM, SIGHUP),
      sizes_(io, SIGWINCH),
      answer_came_(io),
      begins_(io) {}

asio::awaitable<Result<int>> RemotePrompt::run(dap::Terminal::Arguments wanted,
                                               bool reads_input,
                                               Deadline deadline) {
  on_screen_ = wanted.screen.has_value();
  reads_input_ = reads_input;
  tasks_.spawn(send_messages());
  tasks_.spawn(watch_signals());
  tasks_.spawn(end_unless_begun(deadline));
  auto request = dap::make_request<dap::Terminal>(next_seq_++, wanted);
  co_await messages_.push(dap::to_text(std::move(request)));
  auto code = co_await take_messages();
  mode_.reset();
  messages_.close();
  answer_came_.cancel();
  begins_.cancel();
  boost::system::error_code ignored;
  ends_.cancel(ignored);
  sizes_.cancel(ignored);
  input_.close(ignored);
  transport_->close();
  co_await tasks_.join();
  if (interrupted_) {
    co_return fail(ErrorId::Interrupted, "interrupted");
  }
  if (silent_) {
    co_return fail(ErrorId::TimedOut, "no answer from the server",
                   "check that `hangdbg serve` listens there");
  }
  co_return code;
}

asio::awaitable<Result<int>> RemotePrompt::take_messages() {
  for (;;) {
    const auto text = co_await transport_->read();
    if (!text || !*text) {
      co_return fail(ErrorId::ChannelClosed, "the server has gone");
    }
    const auto message = dap::parse_message(**text);
    if (!message) {
      co_return std::unexpected(message.error());
    }
    if (const auto* const answer = std::get_if<dap::Response>(&*message)) {
      if (answer->command == dap::Terminal::command) {
        if (!answer->success) {
          co_return std::unexpected(dap::error_of(*answer));
        }
        begin();
      }
      answered_ = answer->request_seq;
      answer_came_.cancel();
    } else if (const auto* const event = std::get_if<dap::Event>(&*message)) {
      if (event->event == dap::TerminalEnded::event) {
        const auto body = dap::body_of<dap::TerminalEnded>(*event);
        if (!body) {
          co_return std::unexpected(body.error());
        }
        co_return static_cast<int>(body->exit_code);
      }
      if (const Status printed = print(*event); !printed) {
        co_return std::unexpected(printed.error());
      }
    }
  }
}

// The other side is there.
void RemotePrompt::begin() {
  begins_.cancel();
  if (on_screen_) {
    mode_.emplace();
    tasks_.spawn(send_sizes());
  }
  tasks_.spawn(send_input());
}

Status RemotePrompt::print(const dap::Event& event) {
  if (event.event != dap::TerminalOutput::event) {
    return {};
  }
  const auto body = TRY(dap::body_of<dap::TerminalOutput>(event));
  const std::string bytes = TRY(from_base64(body.data));
  return write_all(body.category == "stderr" ? STDERR_FILENO : STDOUT_FILENO,
                   bytes);
}

asio::awaitable<void> RemotePrompt::send_messages() {
  while (auto text = co_await messages_.pop(Deadline::in(kNever))) {
    const auto sent = co_await transport_->write(*std::move(text),
                                                 Deadline::in(kRemotePatience));
    if (!sent) {
      break;
    }
  }
  messages_.close();
  transport_->close();
}

// What is typed ahead waits here, not there.
asio::awaitable<void> RemotePrompt::send_input() {
  std::array<char, 4096> chunk;
  if (reads_input_) {
    input_.assign(open_input().release());
  }
  for (bool more = true; more;) {
    std::size_t size = 0;
    if (reads_input_) {
      const auto [error, count] =
          co_await input_.async_read_some(asio::buffer(chunk), as_result);
      if (messages_.closed()) {  // it is over, and closed what we read from
        co_return;
      }
      size = error ? 0 : count;
    }
    const std::string_view typed(chunk.data(), size);
    if (on_screen_ && (typed.empty() || typed.contains(kLeave))) {
      interrupt();
      co_return;
    }
    dap::TerminalInput::Arguments input{to_base64(typed)};
    auto request = dap::make_request<dap::TerminalInput>(next_seq_++, input);
    more = co_await ask(std::move(request)) && size > 0;
  }
}

asio::awaitable<void> RemotePrompt::send_sizes() {
  for (;;) {
    const auto [error, signal] = co_await sizes_.async_wait(as_result);
    if (error) {
      co_return;
    }
    auto request =
        dap::make_request<dap::TerminalResize>(next_seq_++, size_of_terminal());
    co_await messages_.push(dap::to_text(std::move(request)));
  }
}

asio::awaitable<void> RemotePrompt::watch_signals() {
  const auto [error, signal] = co_await ends_.async_wait(as_result);
  if (!error) {
    interrupt();
  }
}

asio::awaitable<void> RemotePrompt::end_unless_begun(Deadline deadline) {
  begins_.expires_at(deadline.at());
  const auto [cut_short] = co_await begins_.async_wait(as_result);
  if (!cut_short) {
    silent_ = true;
    transport_->close();
  }
}

// Comes back with the answer; whether there is one.
asio::awaitable<bool> RemotePrompt::ask(dap::Request request) {
  const std::int64_t number = request.seq;
  co_await messages_.push(dap::to_text(std::move(request)));
  while (answered_ < number && !messages_.closed()) {
    answer_came_.expires_at(Deadline::Clock::time_point::max());
    co_await answer_came_.async_wait(as_result);
  }
  co_return answered_ >= number;
}

void RemotePrompt::interrupt() {
  interrupted_ = true;
  transport_->close();
}

}  // namespace hangdbg
