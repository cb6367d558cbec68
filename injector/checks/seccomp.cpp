#include "injector/checks/seccomp.h"

#include <fmt/core.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "injector/checks/filter_probe.h"
#include "tracee/access/permission.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr int kCapSysAdmin = 21;  // linux/capability.h
// PROC_PID_INIT_INO (include/linux/proc_ns.h).
constexpr const char* kInitialPids = "pid:[4026531836]";

bool may_read_filters(const ProcStatus& own) {
  return own.seccomp == SECCOMP_MODE_DISABLED &&
         (own.effective_capabilities >> kCapSysAdmin & 1) != 0 &&
         in_first_user_namespace();
}

// Filters are inherited, and only ever added. A container's runtime puts the
// same ones on the first process and on what is started in the container later.
// So where that process, the target and we have the same number of them, none
// was added. Outside of a container there is no such process.
bool same_filters(int pid, const ProcStatus& own, const ProcStatus& theirs) {
  const auto first = read_status(1);
  if (!first || own.seccomp != SECCOMP_MODE_FILTER || !own.seccomp_filters ||
      own.seccomp_filters != theirs.seccomp_filters ||
      own.seccomp_filters != first->seccomp_filters) {
    return false;
  }
  const auto space = read_proc_link(::getpid(), "ns/pid");
  const auto other = read_proc_link(pid, "ns/pid");
  return space && other && *space == *other && *space != kInitialPids;
}

bool may_restart(std::span<const CallVerdict> verdicts) {
  const auto calls = target_calls();
  const auto restart =
      std::ranges::find(calls, long{SYS_restart_syscall}, &TargetCall::number);
  return verdicts[static_cast<std::size_t>(restart - calls.begin())].allowed();
}

std::unexpected<Error> cannot_restart(int tid) {
  return fail(ErrorId::SeccompForbids,
              fmt::format("the target's seccomp filter forbids "
                          "restart_syscall, without which thread {} cannot go "
                          "on after a stop",
                          tid));
}

std::unexpected<Error> with_hint(int pid, Error error) {
  error.hint =
      fmt::format("hangdbg dump {} reads its stacks out of process", pid);
  return std::unexpected(std::move(error));
}

}  // namespace

Result<std::optional<AllowedCalls>> calls_known_unread(int pid,
                                                       int tid,
                                                       CallMakers makers,
                                                       CallsFor what) {
  const auto theirs = TRY(read_task_status(pid, tid));
  if (theirs.seccomp == SECCOMP_MODE_DISABLED) {
    return AllowedCalls{};
  }
  if (theirs.seccomp == SECCOMP_MODE_STRICT) {
    return with_hint(
        pid, {ErrorId::SeccompForbids,
              fmt::format("process {} may only read and write (seccomp's "
                          "strict mode)",
                          pid),
              {}});
  }
  const auto own = TRY(read_status(::getpid()));
  if (may_read_filters(own)) {
    return std::nullopt;
  }
  if (same_filters(pid, own, theirs)) {
    // Whether the thread's call needs that is seen only once it is stopped.
    if (!may_restart(tried_calls())) {
      return with_hint(pid, cannot_restart(tid).error());
    }
    auto allowed = judge_calls(tried_calls(), makers, what);
    if (!allowed) {
      return with_hint(pid, std::move(allowed).error());
    }
    return *allowed;
  }
  return fail(ErrorId::SeccompUnknown,
              fmt::format("process {} has a seccomp filter, and it is not "
                          "known whether that would kill it for our calls",
                          pid),
              own.seccomp == SECCOMP_MODE_FILTER
                  ? "as root on the host, outside of the container, hangdbg "
                    "can read the filter"
                  : fmt::format("sudo hangdbg attach {}: root can read the "
                                "filter",
                                pid));
}

Result<AllowedCalls> read_allowed_calls(int pid,
                                        TracedThread& thread,
                                        CallMakers makers,
                                        CallsFor what) {
  const auto filters = thread.seccomp_filters();
  // One that cannot be read (it is no classic BPF, or the kernel has no
  // CONFIG_CHECKPOINT_RESTORE) is as bad as one without an end.
  const auto verdicts =
      judge_filters(filters.value_or(std::vector<FilterProgram>(1)));
  auto registers = TRY(thread.registers());
  if (resume_point(registers).rax == SYS_restart_syscall &&
      !may_restart(verdicts)) {
    // Made anew the call waits for its whole time again, if that is relative.
    registers.raw.rip = resume_point(registers).pc.value;
    registers.raw.rax = registers.raw.orig_rax;
    registers.raw.orig_rax = static_cast<unsigned long long>(-1);
    TRY(thread.set_registers(registers));
    return with_hint(pid, cannot_restart(thread.tid()).error());
  }
  if (!filters) {
    return with_hint(pid, {ErrorId::SeccompUnknown,
                           fmt::format("the seccomp filter of process {} "
                                       "cannot be read",
                                       pid),
                           {},
                           filters.error().errno_value});
  }
  const auto allowed = judge_calls(verdicts, makers, what);
  if (!allowed) {
    return with_hint(pid, allowed.error());
  }
  return *allowed;
}

int count_filters(int pid, int tid) {
  const auto status = read_task_status(pid, tid);
  return !status || status->seccomp == SECCOMP_MODE_DISABLED
             ? 0
             : status->seccomp_filters.value_or(1);
}

Libc libc_of(const DangerousCode& danger, const std::vector<Module>& modules) {
  if (danger.is_musl()) {
    return Libc::Musl;
  }
  const std::string& path = modules[danger.pthread_module()].path;
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libpthread") ? Libc::GlibcBefore234
         : name.starts_with("libc.") || name.starts_with("libc-")
             ? Libc::Glibc
             : Libc::Unknown;
}

}  // namespace hangdbg
