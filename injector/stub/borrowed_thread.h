// BorrowedThread: one thread of the target for a fraction of a millisecond.
//
// From `borrow` on the thread is in our stub instead of in its own code;
// `give_back`, and the destructor on every other path, puts registers, vector
// state and signal mask back and resumes it. If we die in between, the stub
// does the same as soon as its deadline passes (stub_x86_64.S).
//
// A stub whose deadline has passed is gone, and its stack and its region are
// the program's own again; and nothing tells us that we were not run for so
// long (Ctrl-Z, a CPU quota). So whatever we write there is written while the
// thread is stopped and seen inside the stub.
//
// Used from the tracer thread that made the TracedThread, and from no other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"
#include "injector/arch/x86_64/stub_x86_64.h"
#include "injector/checks/preflight.h"
#include "injector/stub/code_cave.h"
#include "tracee/ptrace/traced_thread.h"
#include "tracee/ptrace/wait_keeper.h"

namespace hangdbg {

// What the thread is borrowed for: a region of memory with a thread in it.
struct RegionPlan {
  std::uint64_t text_size = 0;
  std::uint64_t total_size = 0;
  std::uint64_t entry = 0;  // the thread's start routine, from the start
  std::uint64_t stack_size = 0;
  bool may_yield = true;  // while the stub waits
};

class BorrowedThread {
 public:
  // The traced_thread must be stopped at a place that check_safe likes. Writes
  // the stub and makes the thread enter it.
  static Result<BorrowedThread> borrow(const AttachTarget& target,
                                       TracedThread& thread,
                                       const Registers& registers,
                                       const Fd& proc_mem,
                                       const RegionPlan& plan,
                                       WaitKeeper& wait);

  BorrowedThread(BorrowedThread&& other) noexcept;
  BorrowedThread& operator=(BorrowedThread&&) = delete;
  ~BorrowedThread();

  // Where the stub has mapped the region. The thread is stopped from then
  // on, so that the region stays while it is filled. Errors: NoRoom with the
  // target's errno, TargetDied, TimedOut, Stopped.
  Result<Address> wait_until_mapped(Deadline deadline);

  // The region is filled: start its thread, and wait until it runs.
  Status start_thread(Deadline deadline);

  // Restores the thread, detaches, and clears the code_cave. A thread in the
  // middle of pthread_create is left to the stub, which restores it when that
  // returns.
  Status give_back();

 private:
  BorrowedThread(const AttachTarget& target,
                 TracedThread& thread,
                 const Registers& registers,
                 ExtendedState extended,
                 std::uint64_t mask,
                 CodeCave code_cave,
                 StubStack stack,
                 WaitKeeper& wait);

  Status enter();
  Result<StubState> wait_for(StubPhase phase, Deadline deadline);
  Status pass_on_events();
  Status detach();
  Result<bool> let_it_unmap();
  Status hold();
  Status beat();
  Status stop_again();
  Status interrupt();
  Result<bool> restore();
  Result<bool> still_inside() const;
  Result<bool> must_finish_first() const;

  const AttachTarget* target_;
  TracedThread* thread_;
  Registers registers_;
  ExtendedState extended_;
  std::uint64_t mask_;
  CodeCave slack_;
  StubStack stack_;
  std::uint64_t beats_ = 0;
  Deadline::Clock::time_point beaten_at_;
  std::optional<Deadline::Clock::time_point> told_to_go_;
  bool disturbed_ = false;         // by a signal that we do not hand on
  std::vector<int> late_signals_;  // came while it was in the stub
  bool entered_ = false;
  bool given_back_ = false;
  WaitKeeper* wait_;
};

}  // namespace hangdbg
