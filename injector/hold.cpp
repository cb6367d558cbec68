#include "injector/hold.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <thread>

#include "base/checkpoint.h"
#include "base/log.h"
#include "injector/arch/x86_64/signal_frame_x86_64.h"
#include "injector/checks/preflight.h"
#include "injector/checks/seccomp.h"
#include "injector/checks/thread_choice.h"
#include "injector/injection_lock.h"
#include "injector/stops.h"
#include "injector/stub/signal_masks.h"
#include "inspector/cpython/runtime/gil.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/task_ids.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

// Python runs on the thread's own stack below its call.
constexpr std::uint64_t kStackNeeded = 192 * 1024;
constexpr auto kStopTimeout = std::chrono::milliseconds(500);
// A waiter for the GIL wakes once in a switch interval, of 5 ms.
constexpr auto kStandsStill = std::chrono::milliseconds(12);

struct Blocked {
  std::unique_ptr<AttachTarget> target;
  std::int32_t inner = 0;  // the number that the target has for the thread
  TaskSyscall call;
  SchedStats runs;
};

Result<Blocked> look(int pid, int tid, Deadline deadline);
Status check_no_gil(const AttachTarget& target, const TaskIds& tasks, int tid);
Status send(const Blocked& blocked,
            int tid,
            const HoldPlace& place,
            Deadline deadline);
Status mark(const AttachTarget& target,
            const HoldPlace& place,
            std::int32_t thread);
const Module* libc_of(const AttachTarget& target);
std::unexpected<Error> refuse(int tid, const std::string& why);

}  // namespace

Status enter_thread(int pid,
                    int tid,
                    const HoldPlace& place,
                    Deadline deadline) {
  const Fd lock = TRY(lock_injections(pid, deadline));
  const auto blocked = TRY(look(pid, tid, deadline));
  return run_as_tracer([&] { return send(blocked, tid, place, deadline); });
}

namespace {

// Nothing is stopped. The preflight is made anew: libraries come and go.
Result<Blocked> look(int pid, int tid, Deadline deadline) {
  Blocked blocked;
  blocked.target = TRY(preflight(pid));
  const AttachTarget& target = *blocked.target;
  const auto tasks = TRY(TaskIds::read(pid));
  const auto inner = tasks.inner(tid);
  if (!inner) {
    return refuse(tid, "no thread any more");
  }
  blocked.inner = static_cast<std::int32_t>(*inner);
  blocked.runs = TRY(read_task_runs(pid, tid));
  blocked.call = TRY(read_task_syscall(pid, tid));
  if (blocked.call.running || blocked.call.number < 0) {
    return refuse(tid, "running, and not blocked in a call");
  }
  TRY(check_no_gil(target, tasks, tid));
  NativeUnwinder unwinder(target.memory, target.modules);
  TRY(worth_stopping(target, tid, unwinder, deadline, kStackNeeded));
  std::this_thread::sleep_for(
      std::min<Deadline::Clock::duration>(kStandsStill, deadline.left()));
  if (TRY(read_task_runs(pid, tid)) != blocked.runs ||
      TRY(read_task_syscall(pid, tid)) != blocked.call) {
    return refuse(tid, "running now and then: it is not blocked for good");
  }
  return blocked;
}

Status check_no_gil(const AttachTarget& target, const TaskIds& tasks, int tid) {
  for (const PythonThread& thread :
       TRY(python_threads(target.memory, target.python, tasks))) {
    if (thread.tid != tid) {
      continue;
    }
    if (thread.interpreter != 0) {
      return refuse(tid, "in another interpreter than the main one");
    }
    const auto gil = TRY(read_gil(target.memory, target.python, tasks));
    if (thread.attached || (gil.locked && gil.holder == thread.state)) {
      return refuse(tid, "the one that holds the GIL");
    }
    return {};
  }
  return refuse(tid, "no thread of Python");
}

Status send(const Blocked& blocked,
            int tid,
            const HoldPlace& place,
            Deadline deadline) {
  const AttachTarget& target = *blocked.target;
  NativeUnwinder unwinder(target.memory, target.modules);
  const Module* const libc = libc_of(target);
  if (libc == nullptr) {
    return refuse(tid, "without a libc that we know");
  }
  const Address sigreturn = TRY(find_sigreturn(target.memory, *libc));

  TRY(calls_known_unread(target.pid, tid, target.makers,
                         CallsFor::SuspendedThread));
  auto thread = TRY(TracedThread::seize(tid));
  TRY(thread.interrupt(deadline.capped(kStopTimeout)));
  checkpoint("hold-stopped");
  if (const Status may = check_stop(target, thread); !may) {
    return refuse(tid,
                  "kept from it by its seccomp filter: " + may.error().message);
  }
  Interrupted interrupted;
  interrupted.registers = TRY(thread.registers());
  const Registers& own = interrupted.registers;
  if (!own.in_syscall() || own.syscall_number() != blocked.call.number ||
      own.sp() != blocked.call.sp) {
    return refuse(tid, "no longer where it was blocked");
  }
  TRY(check_safe(target, thread, own, unwinder, deadline, kStackNeeded));
  interrupted.extended = TRY(thread.extended_state());
  interrupted.signal_mask = TRY(thread.signal_mask());
  const auto frame = TRY(SignalFrame::make(interrupted, sigreturn));
  // Below the stack pointer and the red zone nothing is in use.
  TRY(target.memory.write(frame.at, frame.bytes));
  checkpoint("hold-frame-written");
  // If we die from here on, the agent waits for it, and stays.
  TRY(mark(target, place, blocked.inner));
  checkpoint("hold-marked");
  if (const Status switched = thread.set_registers(
          SignalFrame::on_entry(own, frame.at, place.entry, place.held.value));
      !switched) {
    [[maybe_unused]] const Status taken_back = mark(target, place, 0);
    return switched;
  }
  checkpoint("hold-switched");
  // It enters now, whatever happens.
  if (const Status masked = thread.set_signal_mask(
          all_but_faults() & ~libc_signals(target.danger.is_musl()));
      !masked) {
    log::warn(log::Area::Injector, "thread {}: {}", tid, masked.error().text());
  }
  checkpoint("hold-masked");
  if (const Status gone = thread.detach(); !gone) {
    log::warn(log::Area::Injector, "thread {}: {}", tid, gone.error().text());
  }
  log::info(log::Area::Injector, "thread {} enters", tid);
  return {};
}

// HdHeld::sent
Status mark(const AttachTarget& target,
            const HoldPlace& place,
            std::int32_t thread) {
  return target.memory.write(place.held, std::as_bytes(std::span(&thread, 1)));
}

// Before glibc 2.34 pthread_create's module is another, which has one as well.
const Module* libc_of(const AttachTarget& target) {
  const std::size_t module = target.danger.pthread_module();
  return module < target.modules.size() ? &target.modules[module] : nullptr;
}

std::unexpected<Error> refuse(int tid, const std::string& why) {
  return fail(ErrorId::NoSafeThread,
              fmt::format("thread {} cannot be held: it is {}", tid, why));
}

}  // namespace
}  // namespace hangdbg
