// What the kernel's log says of hangs and ends: processes killed for memory,
// GPUs that fail, tasks that are blocked (/dev/kmsg,
// Documentation/ABI/testing/dev-kmsg). Read without waiting, and without taking
// anything from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct KernelEvent {
  enum class Kind {
    KilledForMemory,
    GpuError,  // NVRM's Xid
    Blocked,   // "INFO: task ... blocked for more than 120 seconds"
  };
  Kind kind = Kind::KilledForMemory;
  double at_s = 0;  // since boot
  int pid = 0;      // 0: not said; as the machine counts, not a container
  std::string name;
  std::string cgroup;  // of the killed process: "/jobs/7"; "": the machine's
  int xid = 0;         // of a GPU's error: which (NVIDIA, "XID Errors")
  std::string text;    // the whole line
};

// The oldest first. Errors: NotPermitted, System.
Result<std::vector<KernelEvent>> read_kernel_events();

// Whether its PIDs are those that we see: in a container they are not
// (PROC_PID_INIT_INO, include/linux/proc_ns.h).
bool kernel_log_has_our_pids();

// One record: "6,1234,5678901,-;text"; none of another kind.
std::optional<KernelEvent> parse_kernel_record(std::string_view record);

}  // namespace hangdbg
