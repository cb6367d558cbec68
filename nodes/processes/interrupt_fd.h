// Ctrl-C comes as something to read, as long as this lives.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"

namespace hangdbg {

class InterruptFd {
 public:
  InterruptFd() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~InterruptFd() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  InterruptFd(const InterruptFd&) = delete;
  InterruptFd& operator=(const InterruptFd&) = delete;

  int get() const { return fd_.get(); }
  bool came() const {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof(info)) == sizeof(info);
  }

 private:
  sigset_t before_{};
  Fd fd_;
};

}  // namespace hangdbg
