#include "client/terminal/ending_signals.h"

#include <poll.h>
#include <pthread.h>
#include <spawn.h>
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

int spawn_with_signals(const char* program,
                       std::span<char*> words,
                       const sigset_t& mask,
                       int& pid) {
  posix_spawnattr_t how;
  ::posix_spawnattr_init(&how);
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&how, &pipe);
  ::posix_spawnattr_setsigmask(&how, &mask);
  ::posix_spawnattr_setflags(&how,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const int failed =
      ::posix_spawnp(&pid, program, nullptr, &how, words.data(), environ);
  ::posix_spawnattr_destroy(&how);
  return failed;
}

bool ending_signal_came(const Fd& from, int milliseconds) {
  pollfd awaited{from.get(), POLLIN, 0};
  ::poll(&awaited, 1, milliseconds);
  signalfd_siginfo came{};
  return ::read(from.get(), &came, sizeof came) == sizeof came;
}

}  // namespace hangdbg
