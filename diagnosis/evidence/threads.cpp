#include "diagnosis/evidence/threads.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <utility>

#include "base/text.h"
#include "diagnosis/evidence/described_file.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/signals.h"
#include "tracee/syscalls/syscall_text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kThreadsMostFiles = 64;  // of one thread's call

Result<SeenThreads> see(int pid, Deadline deadline, bool looks_again);
// From the kernel alone.
SeenThread seen_by_kernel(int pid, int tid);
// And by what its process is known to be.
SeenThread seen_thread(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       const LockReader& locks);
std::string name_policy(unsigned policy);
std::vector<Descriptor> files_of(const ProcessSnapshot& of,
                                 const ThreadSnapshot& thread);
std::optional<CollectiveCall> awaited_collective(const ProcessSnapshot& of,
                                                 const ThreadSnapshot& thread,
                                                 bool waits_for_lock);
CodePlace place_in(const PythonFrame& frame);
void mark_pinned(SeenThreads& all);

}  // namespace

Result<SeenThreads> see_threads(int pid, Deadline deadline) {
  return see(pid, deadline, /*looks_again=*/true);
}

Result<SeenThreads> see_threads_at_once(int pid, Deadline deadline) {
  return see(pid, deadline, /*looks_again=*/false);
}

namespace {

Result<SeenThreads> see(int pid, Deadline deadline, bool looks_again) {
  const ProcStatus status = TRY(read_status(pid));
  SeenThreads all{
      .pid = pid,
      .title = fmt::format("process {} ({})", pid, printable(status.name)),
      .pending = signal_names(status.signals_pending_for_all)};
  // Shared: a reader whose target's memory does not answer is abandoned.
  const auto system = SystemSnapshot::make(deadline);
  system->may_stop = false;
  system->looks_again = looks_again;
  const ProcessSnapshot& of =
      *TRY(system->snapshot_before(pid, deadline.capped(deadline.left() / 2)));
  all.title = of.title();
  if (of.is_python()) {
    all.python = of.process().python.version.text();
  }
  if (!of.unread.empty()) {
    all.skipped.push_back(of.unread);
  }
  if (status.state == 'D') {
    all.skipped.emplace_back(
        "its memory, and so its Python: it is in uninterruptible sleep, and "
        "who reads might wait likewise");
  }
  const LockReader locks(of);
  all.gil = locks.gil();
  std::size_t left_out = 0;
  for (const ThreadSnapshot& thread : of.threads) {
    if (deadline.expired()) {
      all.threads.push_back(seen_by_kernel(pid, thread.id.tid));
      ++left_out;
    } else {
      all.threads.push_back(seen_thread(of, thread, locks));
    }
  }
  if (left_out > 0) {
    all.skipped.push_back(fmt::format(
        "more than their state of {} threads: time was up", left_out));
  }
  all.skipped.insert(all.skipped.end(), system->skipped().begin(),
                     system->skipped().end());
  all.unseen_pipes = system->pipes_unseen();
  mark_pinned(all);
  return all;
}

SeenThread seen_by_kernel(int pid, int tid) {
  SeenThread seen{.id = {pid, tid}};
  if (const auto wait = sample_wait(pid, tid)) {
    seen.runs = wait->runs;
    seen.comm = wait->name;
    seen.state = wait->state;
    seen.doing = describe(*wait);
    seen.asleep_s = wait->asleep_s;
    seen.call = wait->syscall;
  }
  if (const auto stat = read_task_stat(pid, tid)) {
    seen.cpu_s = static_cast<double>(stat->cpu_ticks) /
                 static_cast<double>(::sysconf(_SC_CLK_TCK));
    seen.cpu = stat->cpu;
    seen.nice = stat->nice;
    seen.policy = name_policy(stat->policy);
  }
  if (const auto status = read_task_status(pid, tid)) {
    seen.cpus_allowed = status->cpus_allowed;
    seen.pending = signal_names(status->signals_pending);
    seen.blocked = signal_names(status->signals_blocked);
    if (status->tracer_pid != 0) {
      seen.tracer = status->tracer_pid;
    }
  }
  seen.wchan = read_task_wchan(pid, tid).value_or("");
  return seen;
}

SeenThread seen_thread(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       const LockReader& locks) {
  SeenThread seen = seen_by_kernel(of.pid, thread.id.tid);
  // All of it from the moment that its stack is from.
  seen.runs = thread.wait.runs;
  seen.comm = thread.wait.name;
  seen.state = thread.wait.state;
  seen.doing = describe(thread.wait);
  seen.asleep_s = thread.wait.asleep_s;
  seen.call = thread.wait.syscall;
  seen.name = thread.python ? thread.name : "";
  seen.python = thread.python.has_value();
  if (thread.looks > 1) {
    seen.cpu_percent = thread.cpu_percent;
  }
  // A call's arguments are in memory that may not answer.
  if (thread.wait.state != 'D') {
    seen.arguments = syscall_arguments(of.pid, of.memory(), thread.wait.call);
  }
  seen.files = files_of(of, thread);
  seen.lock = locks.awaited_by(thread);
  seen.collective = awaited_collective(of, thread, seen.lock.has_value());
  seen.has_gil =
      of.gil && of.gil->locked && of.gil->holder_tid == thread.id.tid;
  if (!thread.frames().empty()) {
    seen.place = place_in(thread.frames().front());
  }
  if (const PythonFrame* const own = thread.own_frame()) {
    seen.own = place_in(*own);
  }
  return seen;
}

std::string name_policy(unsigned policy) {
  switch (policy) {
    case SCHED_OTHER:
      return "";
    case SCHED_FIFO:
      return "FIFO";
    case SCHED_RR:
      return "RR";
    case SCHED_BATCH:
      return "BATCH";
    case SCHED_IDLE:
      return "IDLE";
    default:
      return fmt::format("policy {}", policy);
  }
}

// As the rules find it. A wait in MPI runs, and is not looked for.
std::optional<CollectiveCall> awaited_collective(const ProcessSnapshot& of,
                                                 const ThreadSnapshot& thread,
                                                 bool waits_for_lock) {
  if (thread.wait.state == 'R') {
    return std::nullopt;
  }
  auto call = torch_call(of, thread);
  return call || waits_for_lock || thread.id.tid != of.pid
             ? call
             : pending_call(of, thread);
}

// What it waits for, and what it is given besides: the epoll set itself, the
// file that it locks.
std::vector<Descriptor> files_of(const ProcessSnapshot& of,
                                 const ThreadSnapshot& thread) {
  constexpr std::array<long, 9> kOfFirst = {
      SYS_epoll_wait, SYS_epoll_pwait, SYS_flock, SYS_fcntl,     SYS_fsync,
      SYS_fdatasync,  SYS_ioctl,       SYS_lseek, SYS_getdents64};
  const TaskSyscall& call = thread.wait.call;
  std::vector<OpenFile> files;
  const auto add = [&](std::optional<OpenFile> file) {
    if (file && files.size() < kThreadsMostFiles) {
      files.push_back(*std::move(file));
    }
  };
  const bool given = std::ranges::find(kOfFirst, call.number) != kOfFirst.end();
  if (!call.running && given) {
    add(of.file(static_cast<int>(call.args[0])));
  } else if (!call.running && call.number == SYS_waitid &&
             call.args[0] == P_PIDFD) {
    add(of.file(static_cast<int>(call.args[1])));
  }
  // Which of poll(2)'s it is, is in its memory.
  if (thread.wait.state != 'D' || of.is_python()) {
    for (AwaitedFile& one : awaited_files(of, thread).files) {
      add(std::move(one.file));
    }
  }
  std::vector<Descriptor> described;
  for (OpenFile& file : files) {
    described.push_back(describe_file(of.system, of.pid, std::move(file)));
  }
  return described;
}

CodePlace place_in(const PythonFrame& frame) {
  return {frame.function, frame.file, frame.line};
}

// "0-7" of /sys/devices/system/cpu/online.
std::string cpus_online() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::string text;
  std::getline(file, text);
  return text;
}

void mark_pinned(SeenThreads& all) {
  if (all.threads.empty()) {
    return;
  }
  const std::string online = cpus_online();
  const std::string main = all.threads.front().cpus_allowed;
  for (SeenThread& one : all.threads) {
    one.pinned = one.cpus_allowed != main;
  }
  all.threads.front().pinned = !online.empty() && main != online;
}

}  // namespace
}  // namespace hangdbg
