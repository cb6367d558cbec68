#include "injector/checks/target_calls.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace hangdbg {
namespace {

using Argument = TargetCall::Argument;

constexpr Argument kAny{};
constexpr Argument kFd{Argument::Descriptor, 0};

template <class T>
constexpr Argument just(T value) {
  return {Argument::Exactly, static_cast<std::uint64_t>(value)};
}

#define HANGDBG_CALL(name) SYS_##name, #name

constexpr const char* kStub = "the stub";
constexpr const char* kBootstrap = "the agent";
constexpr const char* kTargetCallsLibc = "a thread of ours";
constexpr const char* kGlibc = "a thread of ours (glibc)";
constexpr const char* kMusl = "a thread of ours (musl)";
constexpr const char* kFreeThreaded = "a lock of Python's without a GIL";

constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;
// What they ask of clone(2) for a thread.
constexpr int kGlibcFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                            CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
                            CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
constexpr int kMuslFlags = kGlibcFlags | CLONE_DETACHED;

using Arguments = std::array<Argument, 6>;

constexpr TargetCall needed(long number,
                            const char* name,
                            const char* maker,
                            int answer,
                            Arguments arguments = {}) {
  return {number, name, maker, Need::Success, answer, arguments, nullptr};
}
constexpr TargetCall may_fail(long number,
                              const char* name,
                              const char* maker,
                              int answer,
                              Arguments arguments = {}) {
  return {number, name, maker, Need::Survival, answer, arguments, nullptr};
}
constexpr TargetCall chosen(bool AllowedCalls::*choice,
                            long number,
                            const char* name,
                            const char* maker,
                            int answer,
                            Arguments arguments = {}) {
  return {number, name, maker, Need::Choice, answer, arguments, choice};
}
constexpr TargetCall starts_thread(long number,
                                   const char* name,
                                   const char* maker,
                                   int answer,
                                   Arguments arguments = {}) {
  return {number, name, maker, Need::Thread, answer, arguments, nullptr};
}

const TargetCall kCalls[] = {
    // The first, for filter_probe.cpp.
    needed(HANGDBG_CALL(prctl), kBootstrap, -EFAULT, {just(PR_SET_NAME)}),

    needed(HANGDBG_CALL(mmap),
           kStub,
           -EINVAL,
           {kAny, kAny, just(PROT_READ | PROT_EXEC), just(kPrivate)}),
    needed(HANGDBG_CALL(mprotect),
           kStub,
           0,
           {kAny, kAny, just(PROT_READ | PROT_WRITE)}),
    needed(HANGDBG_CALL(munmap), kStub, -EINVAL),
    needed(HANGDBG_CALL(rt_sigprocmask), kStub, -EINVAL),
    needed(HANGDBG_CALL(clock_gettime),
           kStub,
           -EFAULT,
           {just(CLOCK_MONOTONIC)}),
    chosen(&AllowedCalls::sched_yield, HANGDBG_CALL(sched_yield), kStub, 0),
    // The kernel's own way back into a call with a timeout that was stopped.
    chosen(&AllowedCalls::restart,
           HANGDBG_CALL(restart_syscall),
           kStub,
           -EINTR),

    needed(HANGDBG_CALL(mmap),
           kBootstrap,
           -EINVAL,
           {kAny, kAny, just(PROT_READ | PROT_WRITE), just(kPrivate)}),
    needed(HANGDBG_CALL(gettid), kBootstrap, 0),
    needed(HANGDBG_CALL(getpid), kBootstrap, 0),
    needed(HANGDBG_CALL(pipe2), kBootstrap, -EFAULT),
    needed(HANGDBG_CALL(read), kBootstrap, -EBADF, {kFd}),
    needed(HANGDBG_CALL(write), kBootstrap, -EBADF, {kFd}),
    needed(HANGDBG_CALL(poll), kBootstrap, 0),
    needed(HANGDBG_CALL(close), kBootstrap, -EBADF, {kFd}),
    needed(HANGDBG_CALL(fstat), kBootstrap, -EBADF, {kFd}),
    chosen(&AllowedCalls::sockets,
           HANGDBG_CALL(socketpair),
           kBootstrap,
           -EFAULT,
           {just(AF_UNIX), just(SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)}),
    chosen(&AllowedCalls::sockets,
           HANGDBG_CALL(shutdown),
           kBootstrap,
           -EBADF,
           {kFd, just(SHUT_RDWR)}),
    chosen(&AllowedCalls::read_self,
           HANGDBG_CALL(process_vm_readv),
           kBootstrap,
           0),
    chosen(&AllowedCalls::open,
           HANGDBG_CALL(openat),
           kBootstrap,
           -EFAULT,
           {just(AT_FDCWD), kAny, just(O_PATH | O_CLOEXEC)}),
    chosen(&AllowedCalls::drop,
           HANGDBG_CALL(madvise),
           kBootstrap,
           0,
           {kAny, kAny, just(MADV_DONTNEED)}),
    chosen(&AllowedCalls::clock,
           HANGDBG_CALL(prctl),
           kBootstrap,
           0,
           {just(PR_SET_TSC), just(PR_TSC_ENABLE)}),

    // That a handler can return is nothing that can be tried, or forbidden.
    chosen(&AllowedCalls::hold, HANGDBG_CALL(rt_sigpending), kBootstrap, 0),
    chosen(&AllowedCalls::hold,
           HANGDBG_CALL(rt_sigaction),
           kBootstrap,
           -EINVAL),
    chosen(&AllowedCalls::hold,
           HANGDBG_CALL(rt_sigtimedwait),
           kBootstrap,
           -EINVAL),
    chosen(&AllowedCalls::hold, HANGDBG_CALL(tgkill), kBootstrap, -EINVAL),
    chosen(&AllowedCalls::hold,
           HANGDBG_CALL(sendto),
           kBootstrap,
           -EBADF,
           {kFd}),

    needed(HANGDBG_CALL(futex), kTargetCallsLibc, -EFAULT),
    needed(HANGDBG_CALL(exit), kTargetCallsLibc, 0),
    may_fail(HANGDBG_CALL(madvise), kTargetCallsLibc, 0),
    may_fail(HANGDBG_CALL(brk), kTargetCallsLibc, 0),
    // For a heap of the thread's own, where there is no GIL (mimalloc).
    may_fail(HANGDBG_CALL(getrandom), kTargetCallsLibc, 0),

    starts_thread(HANGDBG_CALL(clone3), kGlibc, -EINVAL),
    starts_thread(HANGDBG_CALL(clone), kGlibc, 0, {just(kGlibcFlags)}),
    needed(HANGDBG_CALL(mmap),
           kGlibc,
           -EINVAL,
           {kAny, kAny, just(PROT_NONE), just(kPrivate | MAP_STACK)}),
    // By its handler glibc reaches every thread when one calls setuid.
    needed(HANGDBG_CALL(rt_sigaction), kGlibc, -EINVAL),
    may_fail(HANGDBG_CALL(set_robust_list), kGlibc, -EINVAL),
    may_fail(HANGDBG_CALL(rseq), kGlibc, -EINVAL),
    // An arena of malloc's, and how many of them there may be: before 2.34
    // glibc reads the number of processors from /sys.
    may_fail(HANGDBG_CALL(mmap),
             kGlibc,
             -EINVAL,
             {kAny, kAny, just(PROT_NONE), just(kPrivate | MAP_NORESERVE)}),
    may_fail(HANGDBG_CALL(sched_getaffinity), kGlibc, -EINVAL),
    may_fail(HANGDBG_CALL(openat), kGlibc, -EFAULT),
    // 3.14t's garbage collector reads /proc/self/status, by stdio.
    may_fail(HANGDBG_CALL(newfstatat), kGlibc, -EFAULT),

    starts_thread(HANGDBG_CALL(clone), kMusl, 0, {just(kMuslFlags)}),
    needed(HANGDBG_CALL(mmap),
           kMusl,
           -EINVAL,
           {kAny, kAny, just(PROT_NONE), just(kPrivate)}),
    may_fail(HANGDBG_CALL(membarrier),
             kMusl,
             0,
             {just(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)}),
    may_fail(HANGDBG_CALL(set_tid_address), kMusl, 0),

    // Whoever waits for one that nobody else wants makes no call: a program may
    // live with such a filter as long as we leave it alone.
    may_fail(HANGDBG_CALL(sched_yield), kFreeThreaded, 0),
};

#undef HANGDBG_CALL

CallArgument known_halves(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Exactly:
      return {static_cast<std::uint32_t>(argument.value),
              static_cast<std::uint32_t>(argument.value >> 32)};
    case Argument::Descriptor:
      return {std::nullopt, 0};
    default:
      return {};
  }
}

std::string how_forbidden(const CallVerdict& verdict) {
  if (verdict.outcome == CallOutcome::Kills) {
    return "would kill the process";
  }
  if (verdict.outcome == CallOutcome::Asks) {
    return "waits for a supervisor that may never answer";
  }
  return verdict.errno_value == 0
             ? "fails"
             : fmt::format("fails ({})", std::strerror(verdict.errno_value));
}

std::unexpected<Error> forbidden(const TargetCall& call,
                                 const CallVerdict& verdict) {
  return fail(ErrorId::SeccompForbids,
              fmt::format("the target's seccomp filter forbids {}, which {} "
                          "needs: it {}",
                          call.name, call.maker, how_forbidden(verdict)));
}

bool can_start_threads(const CallVerdict& clone,
                       const CallVerdict& clone3,
                       Libc libc) {
  // glibc goes back to clone if clone3 is not there, and only then.
  const bool by_clone3 =
      clone3.allowed() || (clone3.outcome == CallOutcome::Fails &&
                           clone3.errno_value == ENOSYS && clone.allowed());
  switch (libc) {
    case Libc::Glibc:
      return by_clone3;
    case Libc::Unknown:
      return clone.allowed() && by_clone3;
    default:
      return clone.allowed();
  }
}

bool concerns(const TargetCall& call, CallMakers makers) {
  if (call.maker == kFreeThreaded) {
    return makers.free_threaded;
  }
  switch (makers.libc) {
    case Libc::Glibc:
    case Libc::GlibcBefore234:
      return call.maker != kMusl;
    case Libc::Musl:
      return call.maker != kGlibc;
    default:
      return true;
  }
}

}  // namespace

std::span<const TargetCall> target_calls() {
  return kCalls;
}

std::vector<CallVerdict> judge_filters(std::span<const FilterProgram> filters) {
  std::vector<CallVerdict> verdicts;
  for (const TargetCall& call : kCalls) {
    std::array<CallArgument, 6> arguments;
    std::ranges::transform(call.arguments, arguments.begin(), known_halves);
    verdicts.push_back(judge_call(filters, call.number, arguments));
  }
  return verdicts;
}

Result<AllowedCalls> judge_calls(std::span<const CallVerdict> verdicts,
                                 CallMakers makers,
                                 CallsFor what) {
  AllowedCalls allowed;
  CallVerdict clone3;
  for (std::size_t i = 0; i < std::size(kCalls); i++) {
    const TargetCall& call = kCalls[i];
    const CallVerdict& verdict = verdicts[i];
    if (!concerns(call, makers) ||
        (what == CallsFor::SuspendedThread && call.maker != kBootstrap &&
         call.maker != kFreeThreaded)) {
      continue;
    }
    switch (call.need) {
      case Need::Success:
        if (!verdict.allowed()) {
          return forbidden(call, verdict);
        }
        break;
      case Need::Survival:
        if (verdict.outcome >= CallOutcome::Asks) {
          return forbidden(call, verdict);
        }
        break;
      case Need::Choice:
        allowed.*call.choice = allowed.*call.choice && verdict.allowed();
        break;
      case Need::Thread:
        if (call.number == SYS_clone3) {
          clone3 = verdict;
        } else if (!can_start_threads(verdict, clone3, makers.libc)) {
          return forbidden(call, verdict.allowed() ? clone3 : verdict);
        }
        break;
    }
  }
  return allowed;
}

}  // namespace hangdbg
