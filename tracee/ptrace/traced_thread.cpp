#include "tracee/ptrace/traced_thread.h"

#include <elf.h>
#include <fmt/core.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <utility>

#include "base/log.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/signals.h"
#include "tracee/ptrace/ptrace_call.h"

namespace hangdbg {
namespace {

constexpr auto kKeep = std::chrono::microseconds(100);
constexpr auto kSpin = std::chrono::milliseconds(2);
constexpr auto kShortNap = std::chrono::microseconds(20);
constexpr auto kNap = std::chrono::microseconds(200);
constexpr std::size_t kMaxExtendedState = 16384;

std::unexpected<Error> gone(int tid) {
  return fail(ErrorId::TargetDied, fmt::format("thread {} has ended", tid));
}

std::unexpected<Error> ptrace_failed(const char* what, int tid) {
  if (errno == ESRCH) {
    return gone(tid);
  }
  return fail_errno(fmt::format("ptrace({}) of thread {} failed", what, tid));
}

}  // namespace

Result<TracedThread> TracedThread::seize(int tid) {
  if (ptrace_call(PTRACE_SEIZE, tid, nullptr,
                  as_pointer(PTRACE_O_TRACESYSGOOD)) == 0) {
    return TracedThread(tid);
  }
  const int saved = errno;
  if (saved == ESRCH) {
    return fail(ErrorId::NoSuchThread, fmt::format("no thread {}", tid));
  }
  if (const auto status = read_status(tid); status && status->tracer_pid != 0) {
    return fail(ErrorId::TracedAlready,
                fmt::format("process {} is already traced by process {}", tid,
                            status->tracer_pid),
                fmt::format("ps -fp {} shows the tracer; end it first",
                            status->tracer_pid));
  }
  errno = saved;
  return fail_errno(fmt::format("not permitted to trace thread {}", tid),
                    ErrorId::NotPermitted);
}

TracedThread::TracedThread(TracedThread&& other) noexcept
    : tid_(other.tid_),
      stopped_(other.stopped_),
      attached_(std::exchange(other.attached_, false)),
      ran_at_(other.ran_at_) {}

TracedThread::~TracedThread() {
  if (attached_ && stopped_) {
    if (const Status detached = detach(); !detached) {
      log::warn(log::Area::Tracee, "{}", detached.error().text());
    }
  }
}

Status TracedThread::interrupt(Deadline deadline, std::vector<int>* later) {
  TRY(ask_to_stop());
  return await_stop(deadline, later);
}

Status TracedThread::ask_to_stop() {
  ran_at_ = Deadline::Clock::now();
  if (ptrace_call(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) {
    return ptrace_failed("INTERRUPT", tid_);
  }
  return {};
}

Status TracedThread::await_stop(Deadline deadline, std::vector<int>* later) {
  // A thread that sleeps or runs stops within microseconds, sooner than a
  // sleep of ours would end; and no descriptor becomes readable for a stop.
  // At first not even our CPU is given away: on a busy machine we would get it
  // back milliseconds after the stop. Then by short sleeps: after one the
  // kernel lets us run soon, after a yield when the others have had their turn.
  const Deadline keep = deadline.capped(kKeep);
  const Deadline spin = deadline.capped(kSpin);
  for (;;) {
    const auto now = Deadline::Clock::now();
    const auto status = TRY(poll());
    if (!status) {
      ran_at_ = now;
    } else {
      if (status->group_stop()) {
        return fail(ErrorId::Stopped,
                    fmt::format("thread {} was stopped by a signal", tid_),
                    fmt::format("kill -CONT {}", tid_));
      }
      if (status->interrupted()) {
        return {};
      }
      const bool waits = later != nullptr && TRY(may_wait(status->signal()));
      if (waits) {
        later->push_back(status->signal());
      }
      TRY(resume(waits ? 0 : status->signal()));
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut,
                  fmt::format("thread {} does not stop", tid_));
    }
    if (spin.expired()) {
      std::this_thread::sleep_for(kNap);
    } else if (keep.expired()) {
      std::this_thread::sleep_for(kShortNap);
    }
  }
}

Result<Registers> TracedThread::registers() const {
  Registers registers;
  if (ptrace_call(PTRACE_GETREGS, tid_, nullptr, &registers.raw) != 0) {
    return ptrace_failed("GETREGS", tid_);
  }
  return registers;
}

Status TracedThread::set_registers(const Registers& registers) {
  auto raw = registers.raw;
  if (ptrace_call(PTRACE_SETREGS, tid_, nullptr, &raw) != 0) {
    return ptrace_failed("SETREGS", tid_);
  }
  return {};
}

Result<ExtendedState> TracedThread::extended_state() const {
  ExtendedState state;
  state.bytes.resize(kMaxExtendedState);
  iovec part{state.bytes.data(), state.bytes.size()};
  if (ptrace_call(PTRACE_GETREGSET, tid_, as_pointer(NT_X86_XSTATE), &part) !=
      0) {
    return ptrace_failed("GETREGSET", tid_);
  }
  state.bytes.resize(part.iov_len);
  return state;
}

Status TracedThread::set_extended_state(const ExtendedState& state) {
  iovec part{const_cast<std::byte*>(state.bytes.data()), state.bytes.size()};
  if (ptrace_call(PTRACE_SETREGSET, tid_, as_pointer(NT_X86_XSTATE), &part) !=
      0) {
    return ptrace_failed("SETREGSET", tid_);
  }
  return {};
}

Result<std::uint64_t> TracedThread::signal_mask() const {
  std::uint64_t mask = 0;
  if (ptrace_call(PTRACE_GETSIGMASK, tid_, as_pointer(sizeof mask), &mask) !=
      0) {
    return ptrace_failed("GETSIGMASK", tid_);
  }
  return mask;
}

bool TracedThread::dispatches_calls() const {
  // <linux/ptrace.h> of 6.4.
  constexpr auto kGetDispatch = static_cast<__ptrace_request>(0x4211);
  struct {
    std::uint64_t mode, selector, offset, size;
  } config{};
  return ptrace_call(kGetDispatch, tid_, as_pointer(sizeof config), &config) ==
             0 &&
         config.mode != 0;
}

Result<siginfo_t> TracedThread::signal_info() const {
  siginfo_t info{};
  if (ptrace_call(PTRACE_GETSIGINFO, tid_, nullptr, &info) != 0) {
    return ptrace_failed("GETSIGINFO", tid_);
  }
  return info;
}

// What the CPU raised may not: the kernel's code for that is above 0, and no
// process can send such a one (sigaction(2)); of SIGTRAP there are other kinds.
// Nor may a SIGSTOP, which would come after the SIGCONT that takes it back.
Result<bool> TracedThread::may_wait(int signal) const {
  return signal == SIGTRAP || (signal != SIGSTOP && !may_be_libcs(signal) &&
                               TRY(signal_info()).si_code <= 0);
}

Status TracedThread::set_signal_mask(std::uint64_t mask) {
  if (ptrace_call(PTRACE_SETSIGMASK, tid_, as_pointer(sizeof mask), &mask) !=
      0) {
    return ptrace_failed("SETSIGMASK", tid_);
  }
  return {};
}

Result<std::vector<FilterProgram>> TracedThread::seccomp_filters() const {
  std::vector<FilterProgram> filters;
  for (std::uintptr_t index = 0;; index++) {
    const long size = ptrace_call(PTRACE_SECCOMP_GET_FILTER, tid_,
                                  as_pointer(index), nullptr);
    if (size < 0 && errno == ENOENT) {
      return filters;
    }
    FilterProgram program(size < 0 ? 0 : static_cast<std::size_t>(size));
    if (size < 0 || ptrace_call(PTRACE_SECCOMP_GET_FILTER, tid_,
                                as_pointer(index), program.data()) != size) {
      return ptrace_failed("SECCOMP_GET_FILTER", tid_);
    }
    filters.push_back(std::move(program));
  }
}

Address TracedThread::restartable_sequences() const {
  __ptrace_rseq_configuration where{};
  const long size = ptrace_call(PTRACE_GET_RSEQ_CONFIGURATION, tid_,
                                as_pointer(sizeof where), &where);
  return size < 0 ? Address{} : Address{where.rseq_abi_pointer};
}

Status TracedThread::resume(int signal) {
  if (ptrace_call(PTRACE_CONT, tid_, nullptr,
                  as_pointer(static_cast<std::uintptr_t>(signal))) != 0) {
    return ptrace_failed("CONT", tid_);
  }
  stopped_ = false;
  return {};
}

Status TracedThread::resume_to_call() {
  if (ptrace_call(PTRACE_SYSCALL, tid_, nullptr, nullptr) != 0) {
    return ptrace_failed("SYSCALL", tid_);
  }
  stopped_ = false;
  return {};
}

Result<std::optional<WaitStatus>> TracedThread::poll() {
  int raw = 0;
  const pid_t waited = ::waitpid(tid_, &raw, WNOHANG | __WALL);
  if (waited == 0) {
    return std::optional<WaitStatus>();
  }
  if (waited < 0) {
    attached_ = errno != ECHILD && attached_;
    return gone(tid_);
  }
  const WaitStatus status(raw);
  if (status.dead()) {
    attached_ = false;
    return gone(tid_);
  }
  stopped_ = true;
  return std::optional(status);
}

Status TracedThread::detach(int signal) {
  if (ptrace_call(PTRACE_DETACH, tid_, nullptr,
                  as_pointer(static_cast<std::uintptr_t>(signal))) != 0) {
    return ptrace_failed("DETACH", tid_);
  }
  attached_ = false;
  return {};
}

}  // namespace hangdbg
