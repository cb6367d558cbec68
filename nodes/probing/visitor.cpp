#include "nodes/probing/visitor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "nodes/probing/segments.h"
#include "nodes/probing/wire.h"

namespace hangdbg {

ProbeVisitor::ProbeVisitor(Fd socket, const ProbeParty& party)
    : socket_(std::move(socket)), party_(&party) {
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::optional<int> ProbeVisitor::done() const {
  return over() && sent_ == kProbeArrived.size() + kProbeBulk ? number_
                                                              : std::nullopt;
}

short ProbeVisitor::events() const {
  const bool sending =
      received_ == kProbeBulk && sent_ < kProbeArrived.size() + kProbeBulk;
  return sending ? POLLIN | POLLOUT : POLLIN;
}

void ProbeVisitor::go_on() {
  while (!over() && receive()) {
  }
  if (!over() && received_ == kProbeBulk &&
      send_segments(socket_.get(), kProbeArrived, sent_) != 0) {
    socket_.reset();
  }
}

// Whether there may be more.
bool ProbeVisitor::receive() {
  std::array<char, 65536> buffer;
  const std::size_t most =
      number_ ? kProbeBulk - received_ : kProbeGreeting - greeting_.size();
  const auto size =
      ::recv(socket_.get(), buffer.data(), most == 0 ? buffer.size() : most, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return errno == EINTR;
  }
  if (size <= 0 || most == 0) {
    socket_.reset();  // it has closed, or says more than there is to say
    return false;
  }
  if (number_) {
    received_ += static_cast<std::size_t>(size);
    return true;
  }
  greeting_.append(buffer.data(), static_cast<std::size_t>(size));
  if (greeting_.size() == kProbeGreeting) {
    greet();
  }
  return !over();
}

void ProbeVisitor::greet() {
  number_ = read_probe_greeting(greeting_, party_->secret);
  const std::string ours = probe_greeting(party_->secret, party_->number);
  if (!number_ || *number_ < 0 || *number_ >= party_->count ||
      ::send(socket_.get(), ours.data(), ours.size(),
             MSG_NOSIGNAL | MSG_DONTWAIT) !=
          static_cast<ssize_t>(ours.size())) {
    socket_.reset();
    number_.reset();
  }
}

}  // namespace hangdbg
