// How often a thread reaches an instruction: a hardware breakpoint at which the
// kernel counts and no thread stops. Nothing is written into the process, and
// the kernel removes it with us, however we end.
//
// By perf_event_open(2), PERF_TYPE_BREAKPOINT. kernel.perf_event_paranoid above
// 2 (Debian's is 3) requires CAP_PERFMON, and the seccomp filters of many
// containers deny it to all.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "tracee/memory/address.h"

namespace hangdbg {

class ExecutionCounter {
 public:
  // Counts from now on. Errors: NoSuchThread, NotPermitted, System (no
  // breakpoint is left, the machine has none, or they do nothing there).
  static Result<ExecutionCounter> open(int tid, Address instruction);

  // Errors: System.
  Result<std::uint64_t> count() const;

 private:
  explicit ExecutionCounter(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace hangdbg
