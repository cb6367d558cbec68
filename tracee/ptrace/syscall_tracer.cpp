#include "tracee/ptrace/syscall_tracer.h"
#include "tracee/ptrace/ptrace_call.h"

#include <fmt/core.h>
#include <linux/audit.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "base/log.h"
#include "tracee/proc/proc_status.h"
#include "tracee/ptrace/interrupted_calls.h"
#include "tracee/ptrace/same_cpu.h"

namespace hangdbg {
namespace {

// Another hangdbg's look at a thread that runs lasts some tens of microseconds.
constexpr auto kOthersLook = std::chrono::milliseconds(200);
constexpr auto kSyscallTracerNap = std::chrono::milliseconds(1);
constexpr unsigned kTurn = 8;

// What a stop at a system call says.
struct SyscallStop {
  bool entry = false;
  TracedCall call;          // of an entry
  std::int64_t result = 0;  // of an exit
};

std::optional<SyscallStop> syscall_stop(int tid, bool expect_entry);
std::optional<SyscallStop> stop_by_registers(int tid, bool expect_entry);
TracedCall call_in(const Registers& registers);
std::optional<Registers> registers_of(int tid);
bool set_registers(int tid, const Registers& registers);
WaitStatus status_in(const siginfo_t& seen);
TracedEnd end_in(WaitStatus status);
bool is_caught(const TraceThread& thread, int signal);

}  // namespace

SyscallTracer::SyscallTracer(TraceObserver& observer, bool children)
    : observer_(observer), children_(children), tracer_(::pthread_self()) {
  // Without SA_RESTART: it is to end a wait.
  struct sigaction wake {};
  wake.sa_handler = [](int) {};
  ::sigaction(kWake, &wake, nullptr);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, kWake);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // our parent may block it
}

Status SyscallTracer::attach(int pid, Deadline deadline) {
  std::vector<int> fresh;
  for (bool more = true; more;) {  // they may start new ones meanwhile
    more = false;
    for (const int tid : TRY(list_tasks(pid))) {
      if (!threads_.contains(tid) && !must_wait(pid, tid)) {
        if (TRY(seize(pid, tid, deadline))) {
          fresh.push_back(tid);
          more = true;
        }
      }
    }
  }
  if (threads_.empty() && waiting_.empty()) {
    return fail(ErrorId::NoSuchProcess,
                fmt::format("process {} has ended", pid), "hangdbg ps");
  }
  for (const int tid : fresh) {
    begin(threads_.at(tid));
  }
  return {};
}

// One stop after the other. The kernel looks for them in the same order each
// time, so of several threads that are quick the first would keep the others
// waiting: in each kTurn-th turn all stopped ones are fetched before any
// resumes.
//
// A stop is looked at, and not fetched, as far as possible: had that of a
// signal been fetched when we are killed, the signal would be lost.
void SyscallTracer::run() {
  SameCpu cpu;
  std::vector<std::pair<int, WaitStatus>> fetched;
  for (unsigned turn = 0; (!threads_.empty() || !waiting_.empty()) && !stop_;) {
    siginfo_t seen{};
    // Main's own children are none of what we trace.
    const int flags = WEXITED | WSTOPPED | __WALL | __WNOTHREAD | WNOWAIT;
    const bool waited =
        ::waitid(P_ALL, 0, &seen, flags | (fetched.empty() ? 0 : WNOHANG)) == 0;
    if (!waited && errno == EINTR) {
      look_at_left_alone();
      continue;
    }
    if (!waited && fetched.empty()) {
      if (errno != ECHILD || waiting_.empty()) {
        break;
      }
      std::this_thread::sleep_for(kSyscallTracerNap);
      look_at_left_alone();
      continue;
    }
    const auto now = Clock::now();
    if (seen.si_pid == 0) {
      for (const auto& [tid, status] : fetched) {
        handle(tid, status, now);
      }
      fetched.clear();
      ++turn;
      continue;
    }
    const WaitStatus status = status_in(seen);
    const bool alone = threads_.size() == 1;
    alone ? cpu.follow(seen.si_pid) : cpu.leave();
    const bool at_once = fetched.empty() && (alone || ++turn % kTurn != 0);
    const bool signals = status.signal() != 0;
    if (!status.dead() && (at_once || signals)) {
      handle(seen.si_pid, status, now);
      continue;
    }
    int raw = 0;
    if (::waitpid(seen.si_pid, &raw, __WALL | __WNOTHREAD | WNOHANG) ==
        seen.si_pid) {
      fetched.emplace_back(seen.si_pid, WaitStatus(raw));
    }
  }
}

void SyscallTracer::stop() {
  stop_ = true;
  ::pthread_kill(tracer_, kWake);
}

void SyscallTracer::look() {
  if (leaves_alone_) {
    ::pthread_kill(tracer_, kWake);
  }
}

// Whether it is ours now, or need not be: it has ended.
Result<bool> SyscallTracer::seize(int pid, int tid, Deadline deadline) {
  const auto options = static_cast<std::uintptr_t>(
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
      (children_ ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK : 0));
  const Deadline patience = deadline.capped(kOthersLook);
  for (;;) {
    if (ptrace_call(PTRACE_SEIZE, tid, nullptr, as_pointer(options)) == 0) {
      break;
    }
    const int saved = errno;
    const auto status = read_task_status(pid, tid);
    if (saved == ESRCH || !status || status->state == 'Z' ||
        status->state == 'X') {
      return false;
    }
    if (status->tracer_pid == ::gettid()) {
      break;  // by itself, as a child of one that is
    }
    if (status->tracer_pid == 0 && saved != EBUSY) {
      errno = saved;
      return fail_errno(
          fmt::format("not permitted to trace thread {} of process {}", tid,
                      pid),
          ErrorId::NotPermitted);
    }
    if (patience.expired()) {
      return fail(ErrorId::TracedAlready,
                  fmt::format("process {} is already traced by process {}", pid,
                              status->tracer_pid),
                  fmt::format("ps -fp {} shows the tracer; end it first",
                              status->tracer_pid));
    }
    std::this_thread::sleep_for(kSyscallTracerNap);
  }
  threads_.emplace(tid, Thread{.id = {pid, tid}});
  return true;
}

// A seized thread runs on as before. It has to stop once, to continue from call
// to call; one that a signal has stopped does so by itself.
void SyscallTracer::begin(Thread& thread) {
  const auto status = read_task_status(thread.id.pid, thread.id.tid);
  const bool stopped = status && (status->state == 'T' || status->state == 't');
  // One that is stopped has left the call.
  const auto now = read_task_syscall(thread.id.pid, thread.id.tid);
  if (!stopped && now && returns_a_part(*now)) {
    leaves_alone_ = true;
    left_alone_.emplace(thread.id.tid, Waits{thread.id.pid});
    if (told_.insert(thread.id.tid).second) {
      observer_.left_alone(thread.id, *now);
    }
    return;
  }
  left_alone_.erase(thread.id.tid);
  if (!stopped) {
    ptrace_call(PTRACE_INTERRUPT, thread.id.tid, nullptr, nullptr);
  }
}

// A write that has put a part of its bytes returns when it is stopped; and it
// is also woken by signals that the kernel drops unless their receiver is
// traced. So it is seized when it has come out.
bool SyscallTracer::must_wait(int pid, int tid) {
  if (waiting_.contains(tid)) {
    return true;
  }
  const auto status = read_task_status(pid, tid);
  const auto now = read_task_syscall(pid, tid);
  if (!status || status->state == 'T' || status->state == 't' || !now ||
      !returns_a_part(*now)) {
    return false;
  }
  waiting_.emplace(tid, Waits{pid});
  leaves_alone_ = true;
  if (told_.insert(tid).second) {
    observer_.left_alone({pid, tid}, *now);
  }
  return true;
}

// One that runs may have been woken to put more of its bytes: that it has come
// out is sure when it is seen at another place, or has run for long.
bool SyscallTracer::still_waits(int tid, Waits& one) {
  constexpr int kLong = 25;  // looks, of which there are 50 a second
  const auto status = read_task_status(one.pid, tid);
  const auto now = read_task_syscall(one.pid, tid);
  if (!status || status->state == 'T' || status->state == 't' || !now) {
    return false;
  }
  one.ran = now->running ? one.ran + 1 : 0;
  return returns_a_part(*now) || (now->running && one.ran < kLong);
}

// With the threads that they may have started meanwhile.
void SyscallTracer::seize_who_has_waited() {
  std::set<int> processes;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (still_waits(at->first, at->second)) {
      ++at;
    } else {
      processes.insert(at->second.pid);
      at = waiting_.erase(at);
    }
  }
  for (const int pid : processes) {
    if (const auto status = attach(pid, Deadline::in(Clock::duration::zero()));
        !status) {
      log::warn(log::Area::Tracee, "{}", status.error().text());
    }
  }
}

void SyscallTracer::look_at_left_alone() {
  seize_who_has_waited();
  std::vector<int> through;
  for (auto& [tid, one] : left_alone_) {
    if (!still_waits(tid, one)) {
      through.push_back(tid);
    }
  }
  for (const int tid : through) {
    left_alone_.erase(tid);
    if (Thread* const thread = find(tid)) {
      begin(*thread);
    }
  }
  leaves_alone_ = !left_alone_.empty() || !waiting_.empty();
}

SyscallTracer::Clock::duration SyscallTracer::busy_for() const {
  const Clock::rep since = busy_since_;
  return since == 0 ? Clock::duration::zero()
                    : Clock::now().time_since_epoch() - Clock::duration(since);
}

void SyscallTracer::handle(int tid, WaitStatus status, Clock::time_point now) {
  busy_since_ = now.time_since_epoch().count();
  handle_stop(tid, status, now);
  busy_since_ = 0;
}

void SyscallTracer::handle_stop(int tid,
                                WaitStatus status,
                                Clock::time_point now) {
  if (status.dead()) {
    on_end(tid, end_in(status));
    return;
  }
  Thread* thread = find(tid);
  if (thread == nullptr) {
    thread = add(tid);
  }
  if (thread == nullptr) {
    ptrace_call(PTRACE_DETACH, tid, nullptr, nullptr);
    return;
  }
  left_alone_.erase(tid);
  if (status.at_call()) {
    on_syscall(*thread, now);
    return;
  }
  switch (status.raw() >> 16) {
    case 0:
      on_signal(*thread, status.signal());
      return;
    case PTRACE_EVENT_STOP:
      if (status.group_stop()) {
        if (stopped_.insert(thread->id.pid).second) {
          observer_.stopped(thread->id.pid, WSTOPSIG(status.raw()));
        }
        // It stays stopped, and we hear when it is continued.
        thread->listens = true;
        ptrace_call(PTRACE_LISTEN, tid, nullptr, nullptr);
        return;
      }
      on_interrupt(*thread);
      break;
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
      on_child(*thread);
      break;
    case PTRACE_EVENT_EXEC:
      thread = &on_exec(*thread);
      break;
    default:
      break;
  }
  resume(*thread);
}

SyscallTracer::Thread* SyscallTracer::find(int tid) {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? nullptr : &found->second;
}

// One that was traced from its first moment on; none, if it is a process that
// is not wanted (clone(2) with another signal than SIGCHLD).
SyscallTracer::Thread* SyscallTracer::add(int tid) {
  const auto status = read_status(tid);
  if (!status || (!children_ && !is_traced(status->tgid))) {
    return nullptr;
  }
  return &threads_.emplace(tid, Thread{.id = {status->tgid, tid}})
              .first->second;
}

void SyscallTracer::on_syscall(Thread& thread, Clock::time_point now) {
  if (thread.in_call) {
    on_exit(thread, now);
    resume(thread);
    return;
  }
  const auto at = syscall_stop(thread.id.tid, true);
  if (!at || !at->entry) {
    resume(thread);
    return;
  }
  TracedCall call = at->call;
  if (const auto was = std::exchange(thread.interrupted, std::nullopt)) {
    if (call.number == SYS_restart_syscall) {
      call = *was;
    }
    call.resumed = call.number == was->number && call.args == was->args;
  }
  thread.set_back = false;
  thread.in_call = true;
  thread.wanted = observer_.entered(thread.id, call);
  thread.entered_at = thread.wanted ? Clock::now() : now;
  resume(thread);
}

void SyscallTracer::on_exit(Thread& thread, Clock::time_point now) {
  thread.in_call = false;
  if (!thread.wanted) {
    return;
  }
  if (const auto at = syscall_stop(thread.id.tid, false); at && !at->entry) {
    observer_.left(thread.id, {at->result, now - thread.entered_at});
  }
}

// Stopped by us, or continued after a stop: the first of a new thread too. What
// a SIGSTOP does to a call is not our business.
void SyscallTracer::on_interrupt(Thread& thread) {
  stopped_.erase(thread.id.pid);
  const bool continued = std::exchange(thread.listens, false);
  const auto registers = registers_of(thread.id.tid);
  if (!registers || !registers->in_syscall()) {
    return;
  }
  thread.interrupted = call_in(*registers);
  if (!continued) {
    set_back(thread, *registers);
  }
}

// A traced thread is given signals that would else be dropped before it hears
// of them: those must end no call either.
void SyscallTracer::on_signal(Thread& thread, int signal) {
  siginfo_t info{};
  if (ptrace_call(PTRACE_GETSIGINFO, thread.id.tid, nullptr, &info) == 0) {
    observer_.signalled(thread.id, info);
  }
  const auto registers = registers_of(thread.id.tid);
  if (registers && (thread.set_back || registers->in_syscall())) {
    const bool caught = is_caught(thread.id, signal);
    if (!caught) {
      thread.interrupted = call_in(*registers);
      set_back(thread, *registers);
    } else if (thread.set_back) {
      set_registers(thread.id.tid, after_interrupted_call(*registers));
      thread.set_back = false;
    }
  }
  resume(thread, signal);
}

void SyscallTracer::on_child(const Thread& parent) {
  unsigned long tid = 0;
  if (ptrace_call(PTRACE_GETEVENTMSG, parent.id.tid, nullptr, &tid) != 0) {
    return;
  }
  const TraceThread by = parent.id;  // `add` may move it
  const Thread* thread = find(static_cast<int>(tid));
  if (thread == nullptr) {
    thread = add(static_cast<int>(tid));
  }
  if (thread != nullptr) {
    observer_.started(thread->id, by);
  }
}

// Whichever thread has called it, it has its process's number now, and the
// others are gone.
SyscallTracer::Thread& SyscallTracer::on_exec(Thread& thread) {
  const int pid = thread.id.pid;
  unsigned long former = 0;
  Thread now = thread;
  if (ptrace_call(PTRACE_GETEVENTMSG, thread.id.tid, nullptr, &former) == 0) {
    if (const Thread* const caller = find(static_cast<int>(former))) {
      now = *caller;
    }
  }
  std::erase_if(threads_,
                [pid](const auto& each) { return each.second.id.pid == pid; });
  observer_.executed(pid, now.id.tid);
  now.id.tid = pid;
  return threads_.insert_or_assign(pid, now).first->second;
}

void SyscallTracer::on_end(int tid, const TracedEnd& how) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) {
    return;
  }
  const TraceThread id = found->second.id;
  threads_.erase(found);
  left_alone_.erase(tid);
  observer_.ended(id, how);
}

void SyscallTracer::set_back(Thread& thread, const Registers& registers) {
  if (!thread.set_back && was_interrupted(registers) &&
      may_be_entered_again(registers.syscall_number()) &&
      set_registers(thread.id.tid, before_call(registers))) {
    thread.set_back = true;
  }
}

// It may have been killed: then its end is told next.
void SyscallTracer::resume(const Thread& thread, int signal) const {
  if (ptrace_call(PTRACE_SYSCALL, thread.id.tid, nullptr,
                  as_pointer(static_cast<std::uintptr_t>(signal))) != 0 &&
      errno != ESRCH) {
    log::warn(log::Area::Tracee, "thread {} does not go on: errno {}",
              thread.id.tid, errno);
  }
}

bool SyscallTracer::is_traced(int pid) const {
  for (const auto& [tid, thread] : threads_) {
    if (thread.id.pid == pid) {
      return true;
    }
  }
  return false;
}

namespace {

// By PTRACE_GET_SYSCALL_INFO, which is there since Linux 5.3.
std::optional<SyscallStop> syscall_stop(int tid, bool expect_entry) {
  static std::atomic<bool> known = true;
  __ptrace_syscall_info info{};
  const long size = known ? ptrace_call(PTRACE_GET_SYSCALL_INFO, tid,
                                        as_pointer(sizeof info), &info)
                          : -1;
  if (size < 0) {
    if (known && errno != EIO && errno != EINVAL) {
      return {};
    }
    known = false;
    return stop_by_registers(tid, expect_entry);
  }
  SyscallStop stop;
  switch (info.op) {
    case PTRACE_SYSCALL_INFO_ENTRY:
      stop.entry = true;
      stop.call.number = static_cast<long>(info.entry.nr);
      std::copy(std::begin(info.entry.args), std::end(info.entry.args),
                stop.call.args.begin());
      stop.call.compat = info.arch != AUDIT_ARCH_X86_64;
      return stop;
    case PTRACE_SYSCALL_INFO_EXIT:
      stop.result = info.exit.rval;
      return stop;
    default:
      return {};
  }
}

std::optional<SyscallStop> stop_by_registers(int tid, bool expect_entry) {
  const auto registers = registers_of(tid);
  if (!registers) {
    return {};
  }
  return SyscallStop{.entry = expect_entry,
                     .call = call_in(*registers),
                     .result = static_cast<std::int64_t>(registers->raw.rax)};
}

TracedCall call_in(const Registers& registers) {
  const user_regs_struct& raw = registers.raw;
  return {.number = registers.syscall_number(),
          .args = {raw.rdi, raw.rsi, raw.rdx, raw.r10, raw.r8, raw.r9}};
}

std::optional<Registers> registers_of(int tid) {
  Registers registers;
  return ptrace_call(PTRACE_GETREGS, tid, nullptr, &registers.raw) == 0
             ? std::optional(registers)
             : std::nullopt;
}

bool set_registers(int tid, const Registers& registers) {
  auto raw = registers.raw;
  return ptrace_call(PTRACE_SETREGS, tid, nullptr, &raw) == 0;
}

// As waitpid would say it.
WaitStatus status_in(const siginfo_t& seen) {
  switch (seen.si_code) {
    case CLD_EXITED:
      return WaitStatus((seen.si_status & 0xff) << 8);
    case CLD_KILLED:
      return WaitStatus(seen.si_status);
    case CLD_DUMPED:
      return WaitStatus(seen.si_status | WCOREFLAG);
    default:  // CLD_TRAPPED, CLD_STOPPED
      return WaitStatus(seen.si_status << 8 | 0x7f);
  }
}

TracedEnd end_in(WaitStatus status) {
  const int raw = status.raw();
  return WIFSIGNALED(raw) ? TracedEnd{.signal = WTERMSIG(raw)}
                          : TracedEnd{.exit_code = WEXITSTATUS(raw)};
}

// Whether a handler will run, or the signal end or stop the process: what ends
// a call without us too.
bool is_caught(const TraceThread& thread, int signal) {
  const auto status = read_task_status(thread.pid, thread.tid);
  if (!status) {
    return true;
  }
  const std::uint64_t bit = std::uint64_t{1} << (signal - 1);
  if ((status->signals_ignored & bit) != 0) {
    return false;
  }
  const bool dropped_by_default = signal == SIGCHLD || signal == SIGCONT ||
                                  signal == SIGURG || signal == SIGWINCH;
  return (status->signals_caught & bit) != 0 || !dropped_by_default;
}

}  // namespace
}  // namespace hangdbg
