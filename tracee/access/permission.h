// Whether the kernel lets us trace a process, and if not, which of its rules it
// is (ptrace(2), "Ptrace access mode checking").
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "tracee/access/containment.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

// Errors: NoSuchProcess, OtherUser, NotDumpable, MoreCapable, Yama,
// PtraceForbidden, KernelTooOld, NotPermitted.
Status check_permission(int pid, const ProcStatus& status);

// What the kernel's rules look at.
struct TraceFacts {
  int pid = 0;
  unsigned own_uid = 0;
  std::uint64_t own_capabilities = 0;
  std::array<unsigned, 4> their_uids{};
  std::uint64_t their_capabilities = 0;
  // The owner of /proc/PID/*: root, if the process is not dumpable.
  unsigned proc_owner = 0;
  bool same_user_namespace = true;
  std::optional<int> ptrace_scope;  // Yama's, where there is Yama
  int errno_value = 0;              // how /proc/PID/mem was refused
  Containment surroundings = Containment::Machine;
};
Error explain_refusal(const TraceFacts& facts);

// Yama's setting, where there is Yama.
std::optional<int> ptrace_scope();
std::string way_past_yama(int scope, Containment where, const std::string& pid);

// What ptrace and process_vm_readv answer to a call that asks for nothing: the
// errno, or 0. Errors: KernelTooOld, PtraceForbidden.
Status judge_trace_calls(int seize_errno, int readv_errno, Containment where);
Status check_trace_calls();

// Capabilities reach no further than their user namespace.
bool in_first_user_namespace();

// "sys_ptrace" for bit 19; "capability 50" for those without a name here.
std::string capability_name(int bit);

}  // namespace hangdbg
