#include "client/terminal/interrupt.h"

#include <atomic>
#include <csignal>

namespace hangdbg {
namespace {

std::atomic<Session*> session_now = nullptr;
std::atomic<bool> interrupted = false;
static_assert(std::atomic<Session*>::is_always_lock_free);

void on_sigint(int) {
  interrupted = true;
  if (Session* const session = session_now) {
    session->interrupt();
  }
}

}  // namespace

Interruptible::Interruptible(Session& session) : outer_(session_now) {
  session_now = &session;
  if (outer_ == nullptr) {
    struct sigaction action {};
    action.sa_handler = on_sigint;
    action.sa_flags = SA_RESTART;  // what is being written is written whole
    ::sigaction(SIGINT, &action, nullptr);
  }
  if (interrupted) {  // and not taken yet
    session.interrupt();
  }
}

Interruptible::~Interruptible() {
  if (outer_ == nullptr) {
    std::signal(SIGINT, SIG_DFL);
  }
  session_now = outer_;
}

bool Interruptible::take() {
  // One that comes in between would be taken here, and interrupt the next call
  // all the same.
  sigset_t ours;
  sigset_t before;
  ::sigemptyset(&ours);
  ::sigaddset(&ours, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ours, &before);
  if (Session* const session = session_now) {
    session->forget_interrupt();
  }
  const bool came = interrupted.exchange(false);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return came;
}

}  // namespace hangdbg
