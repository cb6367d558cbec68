#include "server/dap/strangers.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstddef>

namespace hangdbg {
namespace {

// A client that has the token shows it in some milliseconds.
constexpr std::size_t kMostStrangers = 64;

}  // namespace

Strangers::One::One(Strangers& all, int socket)
    : all_(all), socket_(::fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
  if (!socket_) {  // no descriptor is left, and nothing could end it later
    ::shutdown(socket, SHUT_RDWR);
  }
  if (all.waiting_.size() >= kMostStrangers) {
    all.waiting_.front()->end();
    all.waiting_.pop_front();
  }
  all.waiting_.push_back(this);
  ++all.count_;
}

Strangers::One::~One() {
  std::erase(all_.waiting_, this);
  --all_.count_;
}

// Ends all waits of its session.
void Strangers::One::end() const {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace hangdbg
