// SameCpu: the calling thread runs where one thread of a target runs.
//
// A tracer and what it traces never run both. On one CPU the kernel goes over
// from one to the other; on two each has to wake the other's, which takes many
// times as long where that CPU sleeps, and in a virtual machine more still.
#pragma once

#include <sched.h>

#include <optional>

namespace hangdbg {

class SameCpu {
 public:
  SameCpu();
  // Where it may run as before.
  ~SameCpu() { leave(); }
  SameCpu(const SameCpu&) = delete;
  SameCpu& operator=(const SameCpu&) = delete;

  // Called often; looks now and then where the thread is.
  void follow(int tid);
  void leave();

 private:
  std::optional<cpu_set_t> before_;  // none: it could not be told
  int cpu_ = -1;
  int calls_ = 0;
};

}  // namespace hangdbg
