#include "nodes/probing/connector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "nodes/probing/segments.h"
#include "nodes/probing/wire.h"

namespace hangdbg {
namespace {

constexpr auto kTryAgain = std::chrono::milliseconds(100);

bool no_way(int error) {
  return error == EHOSTUNREACH || error == ENETUNREACH ||
         error == EADDRNOTAVAIL || error == EINVAL || error == EAFNOSUPPORT;
}

}  // namespace

short ProbeConnector::events() const {
  return stage_ == Stage::Connecting ? POLLOUT
         : stage_ == Stage::Sending  ? POLLIN | POLLOUT
                                     : POLLIN;
}

void ProbeConnector::go_on() {
  if (!over_ && stage_ == Stage::Idle && again_.expired()) {
    start();
  }
  if (!over_ && stage_ == Stage::Connecting) {
    connected();
  }
  if (!over_ && stage_ == Stage::Sending) {
    send();
  }
  if (!over_ && stage_ > Stage::Connecting) {
    receive();
  }
}

void ProbeConnector::start() {
  sockaddr_storage storage{};
  const unsigned size =
      socket_address(target_->address, target_->port, &storage);
  socket_.reset(::socket(storage.ss_family,
                         SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  began_ = Deadline::Clock::now();
  sent_ = received_ = 0;
  greeting_.clear();
  if (size == 0 || !socket_) {
    return end_failed(size == 0 ? EAFNOSUPPORT : errno);
  }
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  stage_ = Stage::Connecting;
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&storage),
                size) != 0 &&
      errno != EINPROGRESS) {
    end_failed(errno);
  }
}

void ProbeConnector::connected() {
  pollfd one{socket_.get(), POLLOUT, 0};
  if (::poll(&one, 1, 0) != 1) {
    return;
  }
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    return end_failed(error);
  }
  outcome_.took_ms =
      std::chrono::duration<double, std::milli>(Deadline::Clock::now() - began_)
          .count();
  outcome_.segment = segment_size(socket_.get());
  if (!target_->node) {
    return end(Reach::Accepted);
  }
  stage_ = Stage::Sending;
}

void ProbeConnector::send() {
  const std::string greeting = probe_greeting(party_->secret, party_->number);
  if (const int error = send_segments(socket_.get(), greeting, sent_)) {
    return end_failed(error);
  }
  if (sent_ == greeting.size() + kProbeBulk) {
    stage_ = Stage::AwaitingGreeting;
  }
}

void ProbeConnector::receive() {
  std::array<char, 65536> buffer;
  for (;;) {
    const bool greeted = greeting_.size() == kProbeGreeting;
    const auto size =
        ::recv(socket_.get(), buffer.data(),
               greeted ? buffer.size() : kProbeGreeting - greeting_.size(), 0);
    if (size < 0) {
      return errno == EAGAIN || errno == EINTR ? void() : end_failed(errno);
    }
    if (size == 0) {
      return greeted ? end_failed(ECONNRESET) : end(Reach::OtherProgram);
    }
    if (greeted) {
      received_ += static_cast<std::size_t>(size);
    } else {
      greeting_.append(buffer.data(), static_cast<std::size_t>(size));
    }
    if (!greeted && greeting_.size() == kProbeGreeting) {
      const auto number = read_probe_greeting(greeting_, party_->secret);
      if (number != target_->node) {
        outcome_.other_node = number.value_or(-1);
        return end(number ? Reach::OtherNode : Reach::OtherProgram);
      }
    }
    if (received_ >= kProbeArrived.size() + kProbeBulk) {
      return end(Reach::Whole);
    }
  }
}

void ProbeConnector::give_up() {
  if (over_) {
    return;
  }
  if (stage_ == Stage::Idle) {
    over_ = true;  // refused, again and again
  } else if (stage_ == Stage::Connecting) {
    end(Reach::NoAnswer);
  } else if (greeting_.size() < kProbeGreeting) {
    end(Reach::Silent);
  } else {
    end(received_ == 0 ? Reach::LostThere : Reach::LostBack);
  }
  close();
}

void ProbeConnector::end(Reach reach, int error) {
  over_ = true;
  outcome_.reach = reach;
  outcome_.error = error;
  if (reach != Reach::Whole) {
    close();
  }
}

// A node that refuses may be about to listen.
void ProbeConnector::end_failed(int error) {
  if (error == ECONNREFUSED && target_->node) {
    socket_.reset();
    outcome_.reach = Reach::Refused;
    stage_ = Stage::Idle;
    again_ = Deadline::in(kTryAgain);
    return;
  }
  // Time was up there first, while something was still on its way.
  if ((error == ECONNRESET || error == EPIPE) &&
      greeting_.size() == kProbeGreeting) {
    return give_up();
  }
  end(error == ECONNREFUSED ? Reach::Refused
      : error == ETIMEDOUT  ? Reach::NoAnswer
      : no_way(error)       ? Reach::NoRoute
                            : Reach::Failed,
      error);
}

}  // namespace hangdbg
