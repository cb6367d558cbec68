#include "tracee/ptrace/wait_keeper.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <thread>

#include "base/log.h"
#include "tracee/proc/scheduler_clock.h"
#include "tracee/proc/wait_sample.h"
#include "tracee/ptrace/interrupted_calls.h"

namespace hangdbg {
namespace {

// Shorter waits are not worth a stop more.
constexpr double kWorthIt = 0.05;  // seconds
// To learn that it has not run, and to ask it to stop. Between the two is less
// than a microsecond if our CPU was not taken from us: a thread that is woken
// and gets a CPU needs more for its next call.
constexpr auto kLearnt = std::chrono::microseconds(10);
constexpr int kLearnTries = 5;  // the first one may have cold caches
// Having asked, the kernel wakes the thread's CPU, which may take a virtual
// machine most of a millisecond.
constexpr auto kAsked = std::chrono::milliseconds(5);
// Each step takes microseconds on a machine that has a CPU for the thread. The
// thread is not stopped meanwhile.
constexpr auto kOneStep = std::chrono::milliseconds(10);
constexpr auto kAtOnce = std::chrono::microseconds(100);
constexpr auto kKeeperNap = std::chrono::microseconds(50);

// Between two looks. After the first ones our own CPU is what it needs.
class Pause {
 public:
  void operator()() const {
    if (at_once_.expired()) {
      std::this_thread::sleep_for(kKeeperNap);
    } else {
      ::sched_yield();
    }
  }

 private:
  Deadline at_once_ = Deadline::in(kAtOnce);
};

Result<std::optional<WaitStatus>> next_stop(TracedThread& thread,
                                            Deadline deadline) {
  for (const Pause pause;; pause()) {
    if (auto status = TRY(thread.poll()); status || deadline.expired()) {
      return status;
    }
  }
}

// A wait without a time limit that returns EINTR though no handler has run: the
// caller calls again, and learns nothing else.
bool is_called_again(const Registers& registers) {
  return was_interrupted(registers) &&
         registers.syscall_number() == SYS_epoll_wait &&
         static_cast<std::int32_t>(registers.raw.r10) < 0;
}

// Libc's function has one place for a process of one thread and another, with
// more on the stack, for one that has had more: which it has had by now.
bool is_same_caller(const user_regs_struct& one,
                    const user_regs_struct& other) {
  constexpr std::uint64_t kPlacesApart = 256;
  const auto apart = [](std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : b - a;
  };
  return apart(one.rip, other.rip) < kPlacesApart &&
         apart(one.rsp, other.rsp) < kRedZone && one.rbx == other.rbx &&
         one.r12 == other.r12 && one.r13 == other.r13 && one.r14 == other.r14 &&
         one.r15 == other.r15;
}

// How often our thread was without a CPU.
long own_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

bool is_restarted(const Registers& registers) {
  return resume_point(registers).pc != registers.pc();
}

}  // namespace

WaitKeeper::WaitKeeper(int pid, int tid)
    : pid_(pid), tid_(tid), task_(pid, tid) {
  if (auto wait = sample_wait(pid, tid)) {
    look_ = *std::move(wait);
  }
  const double now = monotonic_s();
  if (!look_ || look_->state != 'S' || look_->asleep_s.value_or(0) < kWorthIt) {
    return;
  }
  runs_ = look_->runs.times;
  const auto call = read_task_syscall(pid, tid);
  const auto stat = read_task_stat(pid, tid);
  const auto switches = voluntary_switches(pid, tid);
  // All of one sleep.
  if (!call || !stat || !switches || call->running || call->number < 0 ||
      !has_run(0)) {
    return;
  }
  before_ = KeptWait{.started = stat->start_ticks,
                     .boot = boot_id(),
                     .call = *call,
                     .switches = *switches,
                     .began_s = now - *look_->asleep_s};
}

// One that is woken before the stop was asked for may run, wait anew, and stop
// on the way into that wait: all that `stopped` looks at is then the same. It
// had no time for that, or no CPU: where its only run was on the CPU that we
// asked on, it was not under way when we asked.
Status WaitKeeper::interrupt(TracedThread& thread, Deadline deadline) {
  const long switches = own_switches();
  const int cpu = ::sched_getcpu();
  const bool sleeps = has_just_not_run();
  const Deadline asked = Deadline::in(kAsked);
  TRY(thread.ask_to_stop());
  const bool at_once = !asked.expired();
  const bool same_cpu = ::sched_getcpu() == cpu;
  const long switched = own_switches() - switches;
  if (switched == 1 && same_cpu) {
    runs_on_ = cpu;
  } else if (switched != 0 || !at_once) {
    before_.reset();
  }
  if (!sleeps) {
    before_.reset();
  }
  return thread.await_stop(deadline);
}

// It has run once, and given its CPU away once: for this stop. Either alone
// does not prove it: a thread that is woken, continues, loses its CPU on the
// way into the next wait and is stopped there has given it away only once.
void WaitKeeper::stopped(const TracedThread& thread,
                         const Registers& registers) {
  if (before_ && thread.tid() == tid_ && registers.in_syscall() &&
      (is_restarted(registers) || is_called_again(registers)) &&
      registers.sp() == before_->call.sp &&
      registers.pc() == before_->call.pc && has_run(1) &&
      voluntary_switches(pid_, tid_) == before_->switches + 1 && ran_there()) {
    at_ = registers;
  }
}

Status WaitKeeper::let_go(TracedThread& thread) {
  if (!at_) {
    return thread.detach();
  }
  TRY(thread.resume_to_call());
  const auto entry = TRY(next_stop(thread, Deadline::in(kOneStep)));
  if (!entry) {
    return {};
  }
  if (!entry->at_call()) {
    return thread.detach(entry->signal());
  }
  if (!enters_again(TRY(thread.registers()))) {
    return thread.detach();
  }
  return watch_falling_asleep(thread);
}

void WaitKeeper::note() {
  if (kept_) {
    note_wait(tid_, *kept_);
  }
}

bool WaitKeeper::has_just_not_run() const {
  for (int i = 0; before_ && i < kLearnTries; ++i) {
    const Deadline learnt = Deadline::in(kLearnt);
    if (!has_run(0)) {
      return false;
    }
    if (!learnt.expired()) {
      return true;
    }
  }
  return false;
}

bool WaitKeeper::ran_there() const {
  if (!runs_on_) {
    return true;
  }
  const auto stat = read_task_stat(pid_, tid_);
  return stat && stat->cpu == *runs_on_;
}

bool WaitKeeper::has_run(std::uint64_t times) const {
  const auto runs = task_.runs();
  return runs && runs->times == runs_ + times;
}

bool WaitKeeper::enters_again(const Registers& now) const {
  const user_regs_struct& one = at_->raw;
  const user_regs_struct& other = now.raw;
  const bool is_entry = static_cast<long long>(other.rax) == -ENOSYS;
  if (is_called_again(*at_)) {
    return is_entry && other.orig_rax == one.orig_rax && other.rdi == one.rdi &&
           other.rsi == one.rsi && other.rdx == one.rdx &&
           other.r10 == one.r10 && is_same_caller(one, other);
  }
  return is_entry &&
         (other.orig_rax == one.orig_rax ||
          other.orig_rax == SYS_restart_syscall) &&
         other.rdi == one.rdi && other.rsi == one.rsi && other.rdx == one.rdx &&
         other.r10 == one.r10 && other.r8 == one.r8 && other.r9 == one.r9 &&
         other.rip == one.rip && other.rsp == one.rsp;
}

// It stops at the end of the call, as long as it is traced so.
Status WaitKeeper::watch_falling_asleep(TracedThread& thread) {
  const auto at_entry = voluntary_switches(pid_, tid_);
  TRY(thread.resume_to_call());
  const Pause pause;
  for (const Deadline deadline = Deadline::in(kOneStep);
       at_entry && !deadline.expired(); pause()) {
    if (const auto stop = TRY(thread.poll())) {
      return thread.detach(stop->signal());
    }
    const auto stat = read_task_stat(pid_, tid_);
    const auto call = read_task_syscall(pid_, tid_);
    if (!stat || stat->state != 'S' || !call || call->running ||
        voluntary_switches(pid_, tid_) != *at_entry + 1) {
      continue;
    }
    if (const auto stop = TRY(thread.poll())) {
      return thread.detach(stop->signal());
    }
    kept_ = *before_;
    kept_->call = *call;
    kept_->switches = *at_entry + 1;
    return {};
  }
  log::debug(log::Area::Tracee, "thread {} was not seen asleep again", tid_);
  return {};
}

}  // namespace hangdbg
