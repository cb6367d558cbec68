#include "client/terminal/ending_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace hangdbg {

Fd take_ending_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      ::sigaddset(&set, signal);
    }
  }
  Fd from(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  for (const int signal : {SIGTSTP, SIGTTOU}) {
    ::sigaddset(&set, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return from;
}

bool ending_signal_came(const Fd& from, int milliseconds) {
  pollfd awaited{from.get(), POLLIN, 0};
  ::poll(&awaited, 1, milliseconds);
  signalfd_siginfo came{};
  return ::read(from.get(), &came, sizeof came) == sizeof came;
}

}  // namespace hangdbg
