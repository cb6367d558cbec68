#include "profiler/sampling/wait_reasons.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "tracee/proc/open_files.h"
#include "tracee/syscalls/signature.h"

namespace hangdbg {

std::set<int> WaitReasons::take_wanted() {
  const std::lock_guard lock(mutex_);
  return std::exchange(wanted_, {});
}

void WaitReasons::tell(int tid, const SchedStats& since, std::string reason) {
  const std::lock_guard lock(mutex_);
  told_.insert_or_assign(tid, Told{since, std::move(reason)});
}

void WaitReasons::forget(int tid) {
  const std::lock_guard lock(mutex_);
  told_.erase(tid);
}

void WaitReasons::want(int pid) {
  const std::lock_guard lock(mutex_);
  wanted_.insert(pid);
}

std::optional<std::string> WaitReasons::of(int tid,
                                           const SchedStats& since) const {
  const std::lock_guard lock(mutex_);
  const auto told = told_.find(tid);
  return told != told_.end() && told->second.since == since
             ? std::optional(told->second.reason)
             : std::nullopt;
}

std::string call_reason(int pid, const TaskSyscall& call) {
  if (call.number < 0) {
    return "waits in no system call";
  }
  std::string text = "waits in " + syscall_name(call.number);
  const Signature* const signature = find_signature(call.number);
  if (signature == nullptr || signature->args.front() != Arg::Fd) {
    return text;
  }
  const int fd = static_cast<int>(call.args.front());
  const auto file = read_open_file(pid, fd);
  return text + (file ? fmt::format(", {} = {}", fd, printable(file->name))
                      : fmt::format(", {}", fd));
}

}  // namespace hangdbg
