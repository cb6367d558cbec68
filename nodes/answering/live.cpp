#include "nodes/answering/live.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "nodes/processes/child.h"

namespace hangdbg {
namespace {

using Clock = Deadline::Clock;

constexpr auto kBetweenLiveSigns = std::chrono::seconds(1);
// For the command to put back what it has changed, when its orders end.
constexpr auto kCommandToEnd = std::chrono::seconds(5);
constexpr unsigned kLiveToWriteS = 60;
constexpr std::size_t kMostLiveErrors = 64 << 10;
constexpr std::size_t kMostOrders = 1 << 20;  // that it has not read yet

class Live {
 public:
  Live(NodeChild& child, FrameWriter& frames, double silence)
      : child_(child),
        frames_(frames),
        silence_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(silence))),
        orders_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {
    ::fcntl(orders_.get(), F_SETFL, O_NONBLOCK);
  }

  // Until it has ended, or the asking side has.
  void run() {
    while (there_ && (child_.out || child_.err)) {
      ::alarm(kLiveToWriteS);  // a write may never come back
      wait();
      pass_on();
      there_ = there_ && orders_ && Clock::now() - heard_ < silence_ &&
               waiting_.size() < kMostOrders;
    }
    child_.in.reset();
    const Deadline last = Deadline::in(kCommandToEnd);
    while ((child_.out || child_.err) && !last.expired()) {
      std::array<pollfd, 2> fds = {
          {{child_.out.get(), POLLIN, 0}, {child_.err.get(), POLLIN, 0}}};
      ::poll(fds.data(), fds.size(), last.left_ms());
      pass_on();
    }
  }
  const std::string& errors() const { return errors_; }

 private:
  void wait() {
    std::array<pollfd, 5> fds = {
        {{child_.out.get(), POLLIN, 0},
         {child_.err.get(), POLLIN, 0},
         {orders_.get(), POLLIN, 0},
         {STDOUT_FILENO, 0, 0},
         {waiting_.empty() ? -1 : child_.in.get(), POLLOUT, 0}}};
    ::poll(fds.data(), fds.size(), sign_.left_ms());
    there_ = (fds[3].revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
    const std::string more = read_available(orders_);
    if (!more.empty()) {
      heard_ = Clock::now();
      waiting_ += more;
    }
    while (pass_on_some()) {
    }
  }

  // A Ctrl-C comes when the command can read what was ordered before it, and
  // before it can read what was ordered after it. Whether there is more to do.
  bool pass_on_some() {
    const auto key = waiting_.find(kInterruptKey);
    const auto part = waiting_.substr(0, key);
    const auto size = part.empty() || !child_.in
                          ? 0
                          : ::write(child_.in.get(), part.data(), part.size());
    const bool full = size < 0 && (errno == EAGAIN || errno == EINTR);
    if (size < 0 && !full) {
      waiting_.clear();  // it has ended
      return false;
    }
    waiting_.erase(0, full ? 0 : static_cast<std::size_t>(size));
    // Who does not read has something to do that is to end.
    if (key != waiting_.npos && (full || waiting_.front() == kInterruptKey)) {
      waiting_.erase(waiting_.find(kInterruptKey), 1);
      ::kill(child_.pid, SIGINT);
    }
    return !full && child_.in && !waiting_.empty();
  }

  void pass_on() {
    there_ =
        frames_.write_pieces(FrameType::Live, read_available(child_.out)) &&
        there_;
    errors_ += read_available(child_.err);
    if (errors_.size() > kMostLiveErrors) {
      errors_.erase(0, errors_.size() - kMostLiveErrors / 2);
    }
    if (sign_.expired()) {
      there_ = frames_.write(FrameType::Alive, {}) && there_;
      sign_ = Deadline::in(kBetweenLiveSigns);
    }
  }

  NodeChild& child_;
  FrameWriter& frames_;
  const Clock::duration silence_;  // of the asking side
  Fd orders_;
  std::string waiting_;  // orders that the command has not taken
  std::string errors_;
  Deadline sign_ = Deadline::in(kBetweenLiveSigns);
  Clock::time_point heard_ = Clock::now();
  bool there_ = true;  // the asking side
};

}  // namespace

NodeEnd run_live(const NodeRequest& request,
                 std::vector<std::string> variables,
                 FrameWriter& frames) {
  std::vector<std::string> words = request.words;
  words.insert(words.begin(), "hangdbg");
  auto child = start_child("/proc/self/exe", std::move(words),
                           std::move(variables), SIGKILL, true);
  if (!child) {
    return {.failed = child.error().text()};
  }
  Live live(*child, frames, request.silence);
  live.run();
  ::alarm(kLiveToWriteS);
  std::optional<int> code;
  const Deadline last = Deadline::in(kBetweenLiveSigns);
  while (!(code = reap_child(*child)) && !child->out && !last.expired()) {
    ::poll(nullptr, 0, 1);
  }
  if (!code) {
    end_child(*child, SIGINT, Deadline::in(kBetweenLiveSigns));
  }
  const std::string errors = live.errors();
  return frames.write_pieces(FrameType::Errors, errors)
             ? NodeEnd{.code = code.value_or(1)}
             : NodeEnd{};
}

}  // namespace hangdbg
