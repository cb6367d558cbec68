#include "tracee/access/permission.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>

#include "base/fd.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr int kCapSysPtrace = 19;  // linux/capability.h

constexpr std::array kCapabilities = {
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
};

TraceFacts find_facts(int pid, const ProcStatus& status) {
  TraceFacts facts;
  facts.errno_value = errno;
  facts.pid = pid;
  facts.own_uid = ::geteuid();
  if (const auto own = read_status(::getpid())) {
    facts.own_capabilities = own->effective_capabilities;
  }
  facts.their_uids = status.uids;
  facts.their_capabilities = status.capabilities;
  struct stat proc {};
  if (::stat(fmt::format("/proc/{}/stat", pid).c_str(), &proc) == 0) {
    facts.proc_owner = proc.st_uid;
  }
  // Reading another's namespace needs the right to trace it. All namespaces
  // are inside the first.
  const auto ours = read_proc_link(::getpid(), "ns/user");
  const auto theirs = read_proc_link(pid, "ns/user");
  facts.same_user_namespace =
      ours && theirs ? *ours == *theirs : in_first_user_namespace();
  facts.ptrace_scope = ptrace_scope();
  facts.surroundings = containment();
  return facts;
}

std::string names_of(std::uint64_t capabilities) {
  std::string names = capability_name(std::countr_zero(capabilities));
  const int more = std::popcount(capabilities) - 1;
  return more == 0 ? names : fmt::format("{} and {} more", names, more);
}

Error refused_by_yama(const TraceFacts& facts) {
  const int scope = *facts.ptrace_scope;
  return {
      ErrorId::Yama,
      fmt::format("{} may trace process {} (kernel.yama.ptrace_scope is {})",
                  scope == 1  ? "only an ancestor"
                  : scope < 3 ? "only root"
                              : "nobody",
                  facts.pid, scope),
      way_past_yama(scope, facts.surroundings, std::to_string(facts.pid))};
}

}  // namespace

Status check_permission(int pid, const ProcStatus& status) {
  TRY(check_trace_calls());
  // The right that ptrace needs is the one that /proc/PID/mem asks for
  // (PTRACE_MODE_ATTACH_FSCREDS).
  const Fd mem(
      ::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC));
  if (mem) {
    return {};
  }
  if (errno != EACCES && errno != EPERM) {
    return cannot_read_proc(pid, "mem");
  }
  return std::unexpected(explain_refusal(find_facts(pid, status)));
}

// In the kernel's order (kernel/ptrace.c, __ptrace_may_access), but for what no
// right helps against.
Error explain_refusal(const TraceFacts& facts) {
  const int pid = facts.pid;
  const std::string more =
      way_to_more_rights(facts.surroundings, std::to_string(pid));
  if (facts.ptrace_scope >= 3) {
    return refused_by_yama(facts);
  }
  if (!facts.same_user_namespace) {
    return {ErrorId::NotPermitted,
            fmt::format("not permitted to trace process {}: it is in another "
                        "user namespace",
                        pid),
            fmt::format("sudo hangdbg attach {}, on the host", pid),
            facts.errno_value};
  }
  const bool may_trace_all = (facts.own_capabilities >> kCapSysPtrace & 1) != 0;
  const std::uint64_t lacking =
      facts.their_capabilities & ~facts.own_capabilities;
  const auto& uids = facts.their_uids;
  const auto other =
      std::ranges::find_if(uids.begin(), uids.begin() + 3,
                           [&](unsigned uid) { return uid != facts.own_uid; });
  if (!may_trace_all && other != uids.begin() + 3) {
    return {
        ErrorId::OtherUser,
        fmt::format("process {} belongs to another user (uid {})", pid, *other),
        more};
  }
  if (!may_trace_all && facts.proc_owner != uids[1]) {
    return {ErrorId::NotDumpable,
            fmt::format("process {} is not dumpable (PR_SET_DUMPABLE, or a "
                        "set-uid program): only root may trace it",
                        pid),
            more};
  }
  if (!may_trace_all && lacking != 0) {
    return {ErrorId::MoreCapable,
            fmt::format("process {} has capabilities that hangdbg lacks ({})",
                        pid, names_of(lacking)),
            more};
  }
  if (facts.ptrace_scope > 0 && !may_trace_all) {
    return refused_by_yama(facts);
  }
  Error error{ErrorId::NotPermitted,
              fmt::format("not permitted to trace process {}", pid), more,
              facts.errno_value};
  if (may_trace_all) {
    error.hint = "dmesg, for messages of a security module (AppArmor, SELinux)";
  }
  return error;
}

std::optional<int> ptrace_scope() {
  int scope = 0;
  if (std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope) {
    return scope;
  }
  return {};
}

// Where it is 1 a process may say that it can be traced, and `run` has it said.
std::string way_past_yama(int scope,
                          Containment where,
                          const std::string& pid) {
  if (scope >= 3) {
    return "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot";
  }
  std::string way = way_to_more_rights(where, pid);
  if (where == Containment::Machine) {
    way += ", or as root: sysctl kernel.yama.ptrace_scope=0";
  }
  if (scope == 1) {
    way += ", or next time, without root: hangdbg run -- COMMAND";
  }
  return way;
}

// PID 0 is no process, and no memory is read.
Status check_trace_calls() {
  errno = 0;
  ::ptrace(PTRACE_SEIZE, 0, nullptr, nullptr);
  const int seize_errno = errno;
  errno = 0;
  ::process_vm_readv(::getpid(), nullptr, 0, nullptr, 0, 0);
  const int readv_errno = errno;
  if (seize_errno == ESRCH && readv_errno == 0) {
    return {};  // as nearly always, without a look around
  }
  return judge_trace_calls(seize_errno, readv_errno, containment());
}

Status judge_trace_calls(int seize_errno, int readv_errno, Containment where) {
  if (seize_errno == EIO) {
    return fail(ErrorId::KernelTooOld,
                "this kernel lacks PTRACE_SEIZE (Linux 3.4)", "uname -r");
  }
  if (seize_errno == ESRCH && readv_errno == 0) {
    return {};
  }
  if (seize_errno == ESRCH && readv_errno == ENOSYS) {
    return fail(ErrorId::KernelTooOld,
                "this kernel lacks process_vm_readv (Linux 3.2)", "uname -r");
  }
  const bool seizes = seize_errno == ESRCH;
  errno = seizes ? readv_errno : seize_errno;
  auto error = fail_errno(fmt::format("hangdbg's own seccomp filter forbids {}",
                                      seizes ? "process_vm_readv" : "ptrace"),
                          ErrorId::PtraceForbidden);
  error.error().hint = where == Containment::Machine
                           ? "run hangdbg from a shell without that filter"
                           : way_to_more_rights(where, "PID");
  return error;
}

// The only one that maps every user to itself (user_namespaces(7)).
bool in_first_user_namespace() {
  std::ifstream file("/proc/self/uid_map");
  std::uint64_t inside = 1;
  std::uint64_t outside = 1;
  std::uint64_t count = 0;
  return !(file >> inside >> outside >> count) ||
         (inside == 0 && outside == 0 && count == 0xffffffff);
}

std::string capability_name(int bit) {
  return bit >= 0 && static_cast<std::size_t>(bit) < kCapabilities.size()
             ? kCapabilities[static_cast<std::size_t>(bit)]
             : fmt::format("capability {}", bit);
}

}  // namespace hangdbg
