// Preflight: everything that can be found out about a target before anything
// in it is stopped or changed, and every reason to leave it alone.
//
// Each refusal is its own error with the command that helps. Whatever may
// block on a process in D state (maps, mem) comes after what cannot.
#pragma once

#include <memory>

#include "base/result.h"
#include "injector/checks/danger.h"
#include "injector/checks/python_api.h"
#include "injector/checks/real_time.h"
#include "injector/checks/seccomp.h"
#include "inspector/cpython/runtime/python_process.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

struct AttachTarget : PythonProcess {
  ProcStatus status;
  DangerousCode danger;
  TargetApi api;
  CallMakers makers;
  TakenCpus taken_cpus;  // whose threads must not be borrowed; most often none
};

// Errors: those of check_reachable, check_permission (permission.h),
// open_process, check_room, check_cpus (room.h, real_time.h),
// calls_known_unread (seccomp.h); NotInitialized, Finalizing.
Result<std::unique_ptr<AttachTarget>> preflight(int pid);

// For readers: checks that there is such a process, with memory, and that we
// may. Errors: NoSuchProcess, Zombie, KernelThread, check_permission's.
Status check_readable(int pid);

// The part of it that asks only the kernel, for `doctor` and for a look before
// each new try: may this process be stopped for a moment now? Errors:
// NoSuchProcess, and process_state.h's.
Status check_reachable(int pid);

}  // namespace hangdbg
