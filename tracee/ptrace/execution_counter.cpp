#include "tracee/ptrace/execution_counter.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include <cerrno>

namespace hangdbg {
namespace {

// What the kernel wants for an instruction (hw_breakpoint.c of each machine).
#if defined(__x86_64__)
constexpr std::uint64_t kLength = sizeof(long);
#else
constexpr std::uint64_t kLength = HW_BREAKPOINT_LEN_4;
#endif

ErrorId id_of(int error) {
  switch (error) {
    case ESRCH:
      return ErrorId::NoSuchThread;
    case EACCES:
    case EPERM:
      return ErrorId::NotPermitted;
    default:
      return ErrorId::System;
  }
}

Result<Fd> open_event(int tid, Address instruction);

[[gnu::noinline]] void be_counted() {
  __asm__ volatile("");
}

// In a virtual machine a breakpoint may be taken, and never be met.
Status try_on_ourselves() {
  const Fd event = TRY(
      open_event(::gettid(), {reinterpret_cast<std::uint64_t>(&be_counted)}));
  be_counted();
  std::uint64_t count = 0;
  if (::read(event.get(), &count, sizeof count) != sizeof count || count != 1) {
    return fail(ErrorId::System, "the CPU's breakpoints do nothing here");
  }
  return {};
}

}  // namespace

Result<ExecutionCounter> ExecutionCounter::open(int tid, Address instruction) {
  static const Status works = try_on_ourselves();
  TRY(Status(works));
  return ExecutionCounter(TRY(open_event(tid, instruction)));
}

Result<std::uint64_t> ExecutionCounter::count() const {
  std::uint64_t count = 0;
  if (::read(fd_.get(), &count, sizeof count) != sizeof count) {
    return fail_errno("read of a counter of perf_event_open");
  }
  return count;
}

namespace {

Result<Fd> open_event(int tid, Address instruction) {
  perf_event_attr event{};
  event.type = PERF_TYPE_BREAKPOINT;
  event.size = sizeof event;
  event.bp_type = HW_BREAKPOINT_X;
  event.bp_addr = instruction.value;
  event.bp_len = kLength;
  event.exclude_kernel = 1;  // what paranoid=2 wants
  event.exclude_hv = 1;
  constexpr int kAnyCpu = -1;
  constexpr int kNoGroup = -1;
  Fd fd(static_cast<int>(::syscall(SYS_perf_event_open, &event, tid, kAnyCpu,
                                   kNoGroup, PERF_FLAG_FD_CLOEXEC)));
  if (fd.get() < 0) {
    return fail_errno("perf_event_open of a breakpoint", id_of(errno));
  }
  return fd;
}

}  // namespace

}  // namespace hangdbg
