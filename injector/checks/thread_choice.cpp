#include "injector/checks/thread_choice.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <linux/rseq.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>

#include "base/log.h"
#include "injector/arch/x86_64/stub_x86_64.h"
#include "injector/bootstrap/shared.h"
#include "injector/checks/real_time.h"
#include "injector/checks/seccomp.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr std::uint32_t kWorkerFlag = 0x00000010;  // PF_IO_WORKER
// The kernel grows a main thread's stack down to its limit but keeps this
// much free above the next mapping (Documentation/admin-guide,
// stack_guard_gap).
constexpr std::uint64_t kStackGuardGap = 256 * 4096;

// Up to 3.10 a Python frame is three or four of C; 1,000 deep is the limit that
// Python itself sets, and some programs raise.
constexpr std::size_t kMostFrames = 1U << 15;

// Smaller is better. One that runs is looked at and let go unless it is at a
// good place; a call to be avoided may fail from the stop alone.
enum Rank { kAsleep = 0, kRunning = 1, kAsleepAvoid = 2, kNever = 3 };

Status judge(const AttachTarget& target,
             int tid,
             const Registers& registers,
             NativeUnwinder& unwinder,
             Deadline deadline,
             std::uint64_t stack_needed);
bool in_restartable_sequence(const AttachTarget& target,
                             const TracedThread& thread,
                             Address pc);
Rank rank_of(const AttachTarget& target, int tid);
void prefer_fewer_filters(int pid, std::vector<std::pair<Rank, int>>& ranked);
Rank rank_of_call(const AttachTarget& target, const TaskSyscall& call);
bool is_socket(const AttachTarget& target, std::uint64_t fd);
bool has_own_descriptors(const AttachTarget& target, int tid);
const Mapping* mapping_of(const AttachTarget& target, Address address);
bool has_stack_below(const AttachTarget& target,
                     Address sp,
                     std::uint64_t needed = StubStack::kNeeded);
bool is_on_own_stack(const AttachTarget& target, const Registers& registers);
bool is_look(const Registers& registers);

}  // namespace

Result<std::vector<Candidate>> candidate_threads(const AttachTarget& target) {
  std::vector<std::pair<Rank, int>> ranked;
  for (const int tid : TRY(list_tasks(target.pid))) {
    const Rank rank = rank_of(target, tid);
    if (rank != kNever) {
      ranked.emplace_back(rank, tid);
    }
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<Rank, int>::first);
  prefer_fewer_filters(target.pid, ranked);
  std::vector<Candidate> candidates;
  for (const auto& [rank, tid] : ranked) {
    candidates.push_back({.tid = tid, .minds_a_stop = rank == kAsleepAvoid});
  }
  return candidates;
}

bool minds_a_stop(const AttachTarget& target, int tid) {
  const Rank rank = rank_of(target, tid);
  return rank == kAsleepAvoid || rank == kNever;
}

Status worth_stopping(const AttachTarget& target,
                      int tid,
                      NativeUnwinder& unwinder,
                      Deadline deadline,
                      std::uint64_t stack_needed) {
  const auto call = TRY(read_task_syscall(target.pid, tid));
  if (call.running || call.number < 0) {
    return {};
  }
  if (waits_for_supervisor(target.pid, tid)) {
    return fail(ErrorId::NoSafeThread,
                fmt::format("thread {}: it waits for the answer of a seccomp "
                            "supervisor, who would be asked again",
                            tid));
  }
  // The kernel shows these two registers of a sleeping thread, and they are
  // all that unwinding from a system call needs.
  Registers registers;
  registers.raw.rip = call.pc.value;
  registers.raw.rsp = call.sp.value;
  registers.raw.orig_rax = static_cast<unsigned long long>(call.number);
  registers.raw.rsi = call.args[1];
  registers.raw.r10 = call.args[3];
  return judge(target, tid, registers, unwinder, deadline, stack_needed);
}

Status check_safe(const AttachTarget& target,
                  const TracedThread& thread,
                  const Registers& registers,
                  NativeUnwinder& unwinder,
                  Deadline deadline,
                  std::uint64_t stack_needed) {
  if (!registers.in_syscall() &&
      in_restartable_sequence(target, thread, registers.pc())) {
    return fail(
        ErrorId::NoSafeThread,
        fmt::format("thread {} is in a restartable sequence", thread.tid()));
  }
  if (thread.dispatches_calls()) {
    return fail(
        ErrorId::CallsDispatched,
        fmt::format("the program handles the system calls of thread {} "
                    "itself (syscall user dispatch): one of ours would "
                    "end the process",
                    thread.tid()),
        fmt::format("hangdbg dump {0} and hangdbg peek {0} read it from "
                    "outside",
                    target.pid));
  }
  return judge(target, thread.tid(), registers, unwinder, deadline,
               stack_needed);
}

bool waits_for_supervisor(int pid, int tid) {
  const auto where = read_task_wchan(pid, tid);
  return where && where->starts_with("seccomp_do_user_notification");
}

bool may_be_inside(const AttachTarget& target, int tid, AddressRange code) {
  const auto call = read_task_syscall(target.pid, tid);
  if (!call) {
    return call.error().id != ErrorId::NoSuchThread;
  }
  const Mapping* const stack = mapping_of(target, call->sp);
  if (call->running || code.contains(call->pc) || stack == nullptr ||
      stack_mentions(target.memory, call->sp, stack->end,
                     std::span(&code, 1))) {
    return true;
  }
  // And it was that stack's while we read it.
  const auto still = read_task_syscall(target.pid, tid);
  return !still || *still != *call;
}

namespace {

// On its way back to such code the kernel sends a thread that was stopped to
// the sequence's beginning; one that went by the stub it would leave in the
// middle, perhaps on another CPU (rseq(2); the allocators of some programs use
// them).
bool in_restartable_sequence(const AttachTarget& target,
                             const TracedThread& thread,
                             Address pc) {
  const Address area = thread.restartable_sequences();
  if (!area) {
    return false;
  }
  const auto at =
      target.memory.read_address(area + offsetof(struct rseq, rseq_cs));
  if (!at || !*at) {
    return false;
  }
  const auto sequence = target.memory.read_value<rseq_cs>(*at);
  return sequence &&
         pc.value - sequence->start_ip < sequence->post_commit_offset;
}

Status judge(const AttachTarget& target,
             int tid,
             const Registers& registers,
             NativeUnwinder& unwinder,
             Deadline deadline,
             std::uint64_t stack_needed) {
  const auto refuse = [&](const std::string& why) {
    log::debug(log::Area::Injector, "thread {}: {}", tid, why);
    return fail(ErrorId::NoSafeThread, fmt::format("thread {}: {}", tid, why));
  };
  Interruption at;
  at.in_syscall = registers.in_syscall();
  at.number = registers.syscall_number();
  at.futex_op = static_cast<std::uint32_t>(registers.raw.rsi);
  at.has_timeout = registers.raw.r10 != 0;
  at.cancellable = target.danger.is_musl() &&
                   is_cancellable_of_musl(target.memory, registers.pc());
  if (has_own_descriptors(target, tid)) {
    return refuse("it has descriptors of its own (unshare(CLONE_FILES))");
  }
  const bool plain_wait = DangerousCode::is_low_level_wait(at);
  if (const auto verdict = DangerousCode::judge_call(at);
      !plain_wait && !verdict.safe) {
    return refuse(verdict.reason);
  }
  if (at.in_syscall && !follows_syscall(target.memory, registers.pc())) {
    return refuse("not at a system call that we know");
  }
  if (!has_stack_below(target, registers.sp(), stack_needed)) {
    return refuse("short of stack");
  }
  if (!is_on_own_stack(target, registers)) {
    return refuse("on a stack of unknown size");
  }
  // The scan reads return addresses that calls left behind as well; it only
  // ever says no too often. A thread that runs has not said where it is by
  // its call, and one in a plain FUTEX_WAIT not whose wait that is, so only the
  // exact way will do.
  const Mapping* stack = mapping_of(target, registers.sp());
  if (at.in_syscall && !plain_wait && stack != nullptr &&
      !stack_mentions(target.memory, registers.sp(), stack->end,
                      target.danger.ranges())) {
    log::debug(log::Area::Injector, "thread {}: the scan finds nothing", tid);
    return {};
  }
  const auto unwound = unwinder.unwind(registers.raw, deadline, kMostFrames);
  if (!unwound) {
    return refuse("cannot be unwound: " + unwound.error().text());
  }
  if (unwound->baseless && is_look(registers)) {
    return {};  // the stop will tell
  }
  const auto verdict = target.danger.judge(*unwound, at);
  if (!verdict.safe) {
    return refuse(verdict.reason);
  }
  log::debug(log::Area::Injector, "thread {}: {} frames, all harmless", tid,
             unwound->frames.size());
  return {};
}

// Our channels would be made among them, and it is the main thread's that can
// be fetched. Where comparing is forbidden (kcmp(2) fails), they are the same.
bool has_own_descriptors(const AttachTarget& target, int tid) {
  return tid != target.pid &&
         ::syscall(SYS_kcmp, target.pid, tid, KCMP_FILES, 0, 0) > 0;
}

// Our threads have the filter of the one that is borrowed, and an expression
// may call what that kills for. So one with fewer is better, unless its call is
// one to be avoided.
void prefer_fewer_filters(int pid, std::vector<std::pair<Rank, int>>& ranked) {
  const int first = ranked.empty() ? 0 : count_filters(pid, ranked[0].second);
  if (first == 0) {
    return;
  }
  std::map<int, int> filters;
  for (const auto& [rank, tid] : ranked) {
    filters[tid] = rank == kAsleepAvoid
                       ? std::max(first, count_filters(pid, tid))
                       : count_filters(pid, tid);
  }
  std::ranges::stable_sort(
      ranked, {}, [&](const auto& one) { return filters.at(one.second); });
}

Rank rank_of(const AttachTarget& target, int tid) {
  const auto stat = read_task_stat(target.pid, tid);
  if (!stat || is_agents_name(stat->comm) || stat->comm.starts_with("iou-") ||
      (stat->flags & kWorkerFlag) != 0 ||
      starved_by(target.pid, tid, target.taken_cpus) != nullptr) {
    return kNever;
  }
  const auto call = read_task_syscall(target.pid, tid);
  if (!call) {
    return kNever;
  }
  if (call->running || stat->state == 'R') {
    return kRunning;
  }
  if (stat->state != 'S' || !has_stack_below(target, call->sp)) {
    return kNever;
  }
  return rank_of_call(target, *call);
}

// Good are those that test_restart.py saw the kernel restart on time, whatever
// they wait on. The others may return EINTR to code that does not expect it,
// from a bare stop already (signal(7), "Interruption of system calls by stop
// signals"); or less than they would have; or late, since their time is
// relative and our stop comes on top of it.
Rank rank_of_call(const AttachTarget& target, const TaskSyscall& call) {
  switch (call.number) {
    case SYS_futex: {
      // A plain FUTEX_WAIT in libc is a low-level lock; whether this one is
      // in libc is seen after the stop.
      const auto op = call.args[1] & FUTEX_CMD_MASK;
      return op == FUTEX_WAIT_BITSET ? kAsleep : kAsleepAvoid;
    }
    case SYS_read:
    case SYS_readv:
      return is_socket(target, call.args[0]) ? kAsleepAvoid : kAsleep;
    case SYS_futex_waitv:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_open:
    case SYS_openat:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_pause:
    case SYS_rt_sigsuspend:
      return kAsleep;
    default:
      return kAsleepAvoid;
  }
}

// It may have a time limit (SO_RCVTIMEO), with which nothing is restarted, and
// which cannot be seen out of process.
bool is_socket(const AttachTarget& target, std::uint64_t fd) {
  std::error_code error;
  const auto link = std::filesystem::read_symlink(
      fmt::format("/proc/{}/fd/{}", target.pid, fd), error);
  return error || link.native().starts_with("socket:");
}

const Mapping* mapping_of(const AttachTarget& target, Address address) {
  const auto found = std::ranges::find_if(
      target.maps, [&](const Mapping& m) { return m.contains(address); });
  return found == target.maps.end() ? nullptr : &*found;
}

// A signal's alternate stack, or a coroutine's, is a few KB of some bigger
// mapping, and what is below it is in other use. A thread's own stack has
// its control block on top, in glibc and musl; main's has a name.
bool is_on_own_stack(const AttachTarget& target, const Registers& registers) {
  if (is_look(registers)) {
    return true;  // the stop will tell
  }
  const Mapping* stack = mapping_of(target, registers.sp());
  return stack != nullptr &&
         (stack->path == "[stack]" || stack->contains({registers.raw.fs_base}));
}

// Without a stop: then most are not known.
bool is_look(const Registers& registers) {
  return registers.raw.fs_base == 0;
}

bool has_stack_below(const AttachTarget& target,
                     Address sp,
                     std::uint64_t needed) {
  const Mapping* stack = mapping_of(target, sp);
  if (stack == nullptr || !stack->writable) {
    return false;
  }
  if (sp - stack->start >= needed) {
    return true;
  }
  if (stack->path != "[stack]") {
    return false;
  }
  // Room to grow, if neither the limit nor anything else is in the way.
  rlimit limit{};
  if (::prlimit(target.pid, RLIMIT_STACK, nullptr, &limit) != 0 ||
      stack->end - sp + needed > limit.rlim_cur) {
    return false;
  }
  const std::size_t index =
      static_cast<std::size_t>(stack - target.maps.data());
  const Address below = index == 0 ? Address{} : target.maps[index - 1].end;
  return sp - below > needed + kStackGuardGap;
}

}  // namespace
}  // namespace hangdbg
