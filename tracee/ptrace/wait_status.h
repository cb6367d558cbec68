// A wait status, decoded once (ptrace(2), "Stopped states").
#pragma once

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

namespace hangdbg {

class WaitStatus {
 public:
  explicit WaitStatus(int raw) : raw_(raw) {}

  // The thread is gone.
  bool dead() const { return WIFEXITED(raw_) || WIFSIGNALED(raw_); }

  // Stopped by PTRACE_INTERRUPT.
  bool interrupted() const {
    return event() == PTRACE_EVENT_STOP && WSTOPSIG(raw_) == SIGTRAP;
  }

  // The whole process was stopped (SIGSTOP and kin) and this thread with it.
  bool group_stop() const {
    return event() == PTRACE_EVENT_STOP && WSTOPSIG(raw_) != SIGTRAP;
  }

  // On the way into a system call or out of it (PTRACE_O_TRACESYSGOOD).
  bool at_call() const {
    return WIFSTOPPED(raw_) && event() == 0 && WSTOPSIG(raw_) == kAtCall;
  }

  // About to be given this signal, 0 when it is none of that. The tracer must
  // pass it on when it resumes.
  int signal() const {
    return WIFSTOPPED(raw_) && event() == 0 && !at_call() ? WSTOPSIG(raw_) : 0;
  }

  int raw() const { return raw_; }

 private:
  static constexpr int kAtCall = SIGTRAP | 0x80;

  int event() const { return WIFSTOPPED(raw_) ? raw_ >> 16 : 0; }

  int raw_;
};

}  // namespace hangdbg
