#include "injector/stub/borrowed_thread.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/checkpoint.h"
#include "base/log.h"
#include "injector/stub/signal_masks.h"
#include "tracee/access/process_state.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

// How long the stub outlives our last heartbeat, by its own clock: a time
// namespace's may be another. A machine so busy that we cannot beat for as long
// costs us this try, not the target.
constexpr auto kHeartbeat = std::chrono::milliseconds(60);
constexpr auto kSpin = std::chrono::milliseconds(2);
constexpr auto kBorrowedThreadNap = std::chrono::microseconds(100);
constexpr auto kStopAgain = std::chrono::seconds(5);
// After so long we ask whether the target has been frozen meanwhile.
constexpr auto kAskFrozen = std::chrono::milliseconds(200);
// pthread_create takes 50 us, and must not be broken off in the middle.
constexpr auto kThreadStart = std::chrono::seconds(2);

std::unexpected<Error> too_late() {
  return fail(ErrorId::TimedOut, "the machine is too busy to inject");
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Result<BorrowedThread> BorrowedThread::borrow(const AttachTarget& target,
                                              TracedThread& thread,
                                              const Registers& registers,
                                              const Fd& proc_mem,
                                              const RegionPlan& plan,
                                              WaitKeeper& wait) {
  auto extended = TRY(thread.extended_state());
  const auto mask = TRY(thread.signal_mask());
  const auto stack = StubStack::below(registers.sp(), extended.bytes.size());

  StubState state;
  state.patience = std::chrono::nanoseconds(kHeartbeat).count();
  StubParameters parameters;
  parameters.state = stack.state.value;
  parameters.region_size = plan.total_size;
  parameters.text_size = plan.text_size;
  parameters.entry = plan.entry;
  parameters.stack_size = plan.stack_size;
  parameters.pthread_attr_init = target.api.pthread_attr_init.value;
  parameters.pthread_attr_setstacksize =
      target.api.pthread_attr_setstacksize.value;
  parameters.pthread_create = target.api.pthread_create.value;
  parameters.signal_mask = mask;
  parameters.may_yield = plan.may_yield ? 1 : 0;
  save_registers(parameters, registers);

  // Below the stack pointer and the red zone nothing is in use.
  TRY(write_proc_mem(proc_mem, stack.state, bytes_of(state)));
  auto code_cave = TRY(
      CodeCave::write(target, proc_mem, thread.tid(), stub_bytes(parameters)));
  // By this a signal's handler that runs in the stub is told (inside_stub).
  TRY(write_proc_mem(proc_mem, stack.sp - sizeof(Address),
                     bytes_of(code_cave.stub())));
  checkpoint("stub-written");
  BorrowedThread borrowed(target, thread, registers, std::move(extended), mask,
                          std::move(code_cave), stack, wait);
  TRY(borrowed.enter());
  return borrowed;
}

BorrowedThread::BorrowedThread(const AttachTarget& target,
                               TracedThread& thread,
                               const Registers& registers,
                               ExtendedState extended,
                               std::uint64_t mask,
                               CodeCave code_cave,
                               StubStack stack,
                               WaitKeeper& wait)
    : target_(&target),
      thread_(&thread),
      registers_(registers),
      extended_(std::move(extended)),
      mask_(mask),
      slack_(std::move(code_cave)),
      stack_(stack),
      wait_(&wait) {}

BorrowedThread::BorrowedThread(BorrowedThread&& other) noexcept
    : target_(other.target_),
      thread_(other.thread_),
      registers_(other.registers_),
      extended_(std::move(other.extended_)),
      mask_(other.mask_),
      slack_(std::move(other.slack_)),
      stack_(other.stack_),
      beats_(other.beats_),
      beaten_at_(other.beaten_at_),
      told_to_go_(other.told_to_go_),
      disturbed_(other.disturbed_),
      late_signals_(std::move(other.late_signals_)),
      entered_(other.entered_),
      given_back_(std::exchange(other.given_back_, true)),
      wait_(other.wait_) {}

BorrowedThread::~BorrowedThread() {
  if (given_back_) {
    return;
  }
  if (const Status back = give_back(); !back) {
    log::warn(log::Area::Injector, "giving thread {} back: {}", thread_->tid(),
              back.error().text());
  }
}

Result<Address> BorrowedThread::wait_until_mapped(Deadline deadline) {
  TRY(wait_for(StubPhase::Mapped, deadline));
  TRY(hold());
  const auto state = TRY(target_->memory.read_value<StubState>(stack_.state));
  if (state.phase != StubPhase::Mapped) {
    return too_late();
  }
  checkpoint("mapped");
  return Address{state.region};
}

Status BorrowedThread::start_thread(Deadline deadline) {
  const std::uint32_t go = 1;
  TRY(target_->memory.write(stack_.state + offsetof(StubState, go),
                            bytes_of(go)));
  TRY(beat());
  told_to_go_ = Deadline::Clock::now();
  TRY(thread_->resume());
  checkpoint("told-to-go");
  TRY(wait_for(StubPhase::Started, deadline.left() < kThreadStart
                                       ? Deadline::in(kThreadStart)
                                       : deadline));
  checkpoint("thread-started");
  return {};
}

Status BorrowedThread::give_back() {
  given_back_ = true;
  TRY(stop_again());
  checkpoint("stopped-again");
  if (TRY(must_finish_first())) {
    log::info(log::Area::Injector, "thread {} will restore itself",
              thread_->tid());
    return detach();
  }
  if (entered_ && !told_to_go_ && !disturbed_ && !TRY(let_it_unmap())) {
    log::info(log::Area::Injector,
              "thread {} will unmap the region when thawed", thread_->tid());
    return detach();
  }
  const bool as_it_was = TRY(restore());
  TRY(as_it_was && late_signals_.empty() ? wait_->let_go(*thread_) : detach());
  checkpoint("detached");
  return slack_.restore();
}

// The registers first, with the thread's own mask already in the stub's hands:
// whatever happens after that, it finds its way back. The other way round, a
// death in between would leave it in its own code with all signals blocked.
Status BorrowedThread::enter() {
  TRY(thread_->set_registers(
      stub_registers(registers_, slack_.stub(), stack_.sp)));
  entered_ = true;
  checkpoint("switched");
  TRY(thread_->set_signal_mask(all_but_faults() &
                               ~setuid_signal(target_->danger.is_musl())));
  checkpoint("masked");
  TRY(beat());
  TRY(thread_->resume());
  checkpoint("running");
  return {};
}

Result<StubState> BorrowedThread::wait_for(StubPhase phase, Deadline deadline) {
  const Deadline spin = deadline.capped(kSpin);
  for (;;) {
    const auto state = TRY(target_->memory.read_value<StubState>(stack_.state));
    if (state.phase == phase) {
      return state;
    }
    if (state.phase == StubPhase::Failed && state.error == -ETIMEDOUT) {
      return too_late();
    }
    if (state.phase == StubPhase::Failed) {
      auto error = fail_number(static_cast<int>(-state.error),
                               "the target has no room for a thread of ours",
                               ErrorId::NoRoom);
      error.error().hint = fmt::format(
          "its limits on memory and threads: prlimit --pid {0}; "
          "hangdbg dump {0} and hangdbg peek {0} take nothing",
          target_->pid);
      return error;
    }
    if (state.phase == StubPhase::Left) {
      return too_late();
    }
    TRY(pass_on_events());
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut, "the injected code does not get on");
    }
    if (Deadline::Clock::now() - beaten_at_ > kHeartbeat / 2) {
      TRY(hold());
      TRY(beat());
      TRY(thread_->resume());
    }
    if (spin.expired()) {
      std::this_thread::sleep_for(kBorrowedThreadNap);
    } else {
      ::sched_yield();
    }
  }
}

// Signals that stay open in the stub: ours to hand on later, unless it was the
// stub itself that faulted (the kernel's code for that is above 0; a process
// that sends one cannot choose such).
Status BorrowedThread::pass_on_events() {
  const auto status = TRY(thread_->poll());
  if (!status) {
    return {};
  }
  disturbed_ = true;
  if (status->group_stop()) {
    return fail(ErrorId::Stopped, "the target was stopped in mid-attach",
                fmt::format("kill -CONT {}", target_->pid));
  }
  const int signal = status->signal();
  if ((signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
       signal == SIGFPE || signal == SIGSYS) &&
      TRY(thread_->signal_info()).si_code > 0) {
    return fail(ErrorId::System,
                fmt::format("signal {} in the injected code", signal));
  }
  disturbed_ = false;
  // The SIGCONT may come any moment; and who calls setuid waits for the answer.
  if (signal == SIGSTOP || may_be_libcs(signal)) {
    return thread_->resume(signal);
  }
  // Its handler would run here, and the interrupted call would not hear of it.
  late_signals_.push_back(signal);
  return thread_->resume();
}

// The thread is in its own code again: the late signals are delivered there.
Status BorrowedThread::detach() {
  for (const int signal : std::exchange(late_signals_, {})) {
    ::syscall(SYS_tgkill, target_->pid, thread_->tid(), signal);
  }
  return thread_->detach();
}

// A region without a thread would stay for ever, and only the stub can unmap
// it: with no patience left it does, and restores itself. False: the target
// is frozen, and so that is yet to come.
Result<bool> BorrowedThread::let_it_unmap() {
  const Deadline patience = Deadline::in(kStopAgain);
  const Deadline ask = Deadline::in(kAskFrozen);
  while (TRY(still_inside()) && !patience.expired()) {
    const std::int64_t none = -1;
    TRY(target_->memory.write(stack_.state + offsetof(StubState, patience),
                              bytes_of(none)));
    TRY(thread_->resume());
    std::this_thread::sleep_for(kBorrowedThreadNap);
    TRY(stop_again());
    if (ask.expired() && !check_frozen(target_->pid)) {
      return false;
    }
  }
  return true;
}

// Stops the thread, if it is not, inside the stub.
Status BorrowedThread::hold() {
  if (!thread_->stopped()) {
    TRY(interrupt());
  }
  if (!TRY(still_inside())) {
    return too_late();
  }
  return {};
}

// Only while the thread is held.
Status BorrowedThread::beat() {
  ++beats_;
  beaten_at_ = Deadline::Clock::now();
  return target_->memory.write(stack_.state + offsetof(StubState, beat),
                               bytes_of(beats_));
}

Status BorrowedThread::stop_again() {
  if (thread_->stopped()) {
    return {};
  }
  const Status stopped = interrupt();
  if (!stopped && stopped.error().id != ErrorId::Stopped) {
    return stopped;
  }
  return {};
}

// Not with the operation's deadline: that may be what brought us here, and a
// detach without restoring is the one thing that must not happen. If even this
// one passes, the stub helps itself; and that is all that can be hoped for in a
// frozen target, which does not stop before it is thawed.
Status BorrowedThread::interrupt() {
  const Status stopped =
      thread_->interrupt(Deadline::in(kAskFrozen), &late_signals_);
  if (stopped || stopped.error().id != ErrorId::TimedOut) {
    return stopped;
  }
  TRY(check_frozen(target_->pid));
  return thread_->await_stop(Deadline::in(kStopAgain), &late_signals_);
}

// False: it has restored itself, and has run since.
Result<bool> BorrowedThread::restore() {
  if (!entered_) {
    return true;
  }
  if (!TRY(still_inside())) {
    log::info(log::Area::Injector, "thread {} has restored itself",
              thread_->tid());
    return false;
  }
  TRY(thread_->set_extended_state(extended_));
  TRY(thread_->set_signal_mask(mask_));
  checkpoint("mask-back");
  TRY(thread_->set_registers(registers_));
  checkpoint("registers-back");
  return true;
}

Result<bool> BorrowedThread::still_inside() const {
  const auto now = TRY(thread_->registers());
  const auto below =
      TRY(target_->memory.read_value<std::uint64_t>(stack_.sp - 8));
  return inside_stub(now, slack_.stub(), stack_.sp, below);
}

// pthread_create that is broken off may leave a lock of the allocator's or of
// the thread list taken for ever. Only one that has waited for a lock all the
// time may be: that lock is the borrowed thread's own, and never comes.
Result<bool> BorrowedThread::must_finish_first() const {
  if (!entered_ || !TRY(still_inside())) {
    return false;
  }
  const auto now = TRY(thread_->registers());
  if (in_stub_itself(now, slack_.stub())) {
    return false;
  }
  if (!told_to_go_) {
    return true;  // it handles the libc's signal
  }
  const bool waits = now.in_syscall() && now.syscall_number() == SYS_futex;
  return !waits || Deadline::Clock::now() - *told_to_go_ < kThreadStart;
}

}  // namespace hangdbg
