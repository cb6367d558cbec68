#include "client/breaks/orders.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "client/terminal/interrupt.h"
#include "protocol/json.h"

namespace hangdbg {

OrderReader::OrderReader() {
  ::fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
}

std::optional<reports::BreakOrder> OrderReader::next() {
  read();
  if (over_ || orders_.empty()) {
    return std::nullopt;
  }
  auto order = std::move(orders_.front());
  orders_.pop_front();
  over_ = order.what == "end";
  return over_ ? std::nullopt : std::optional(std::move(order));
}

bool OrderReader::is_interrupted(std::int64_t number) {
  read();
  return interrupted_ == number;
}

void OrderReader::read() {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size > 0) {
      text_.append(buffer.data(), static_cast<std::size_t>(size));
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      over_ = true;
      return;
    } else if (errno == EAGAIN) {
      break;
    }
  }
  for (auto end = text_.find('\n'); end != std::string::npos && !over_;
       end = text_.find('\n')) {
    take(text_.substr(0, end));
    text_.erase(0, end + 1);
  }
}

void OrderReader::take(const std::string& line) {
  if (line == "{}") {
    return;  // the asking side is there
  }
  const auto json = Json::parse(line);
  auto order =
      json ? decode<reports::BreakOrder>(*json) : std::unexpected(json.error());
  if (!order) {
    over_ = true;
  } else if (order->what == "interrupt") {
    interrupted_ = order->number;
  } else if (!order->what.empty()) {
    orders_.push_back(*std::move(order));
  }
}

CommandInterrupts::CommandInterrupts() {
  ::sigemptyset(&ours_);
  ::sigaddset(&ours_, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
}

CommandInterrupts::~CommandInterrupts() {
  forget();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void CommandInterrupts::run(const std::function<bool()>& is_interrupted,
                            const std::function<void()>& command) {
  forget();
  if (is_interrupted()) {
    ::raise(SIGINT);
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  command();
  ::pthread_sigmask(SIG_BLOCK, &ours_, nullptr);
  (void)Interruptible::take();
}

void CommandInterrupts::forget() const {
  const timespec none{};
  while (::sigtimedwait(&ours_, nullptr, &none) == SIGINT) {
  }
}

}  // namespace hangdbg
