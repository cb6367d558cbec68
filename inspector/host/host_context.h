// HostContext: what is around a process and may block its progress: limits of
// its cgroups and its own, libraries, variables, file systems, signals, the
// machine.
//
// Each part is read by a thread of ours: one whose files do not answer costs
// itself and no other, and is named among what was skipped. Nothing is stopped,
// and no code runs in the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "inspector/host/gpus.h"
#include "inspector/host/interfaces.h"
#include "inspector/host/libraries.h"
#include "inspector/host/room.h"
#include "inspector/host/variables.h"
#include "tracee/host/cgroup_limits.h"
#include "tracee/host/cgroups.h"
#include "tracee/host/kernel_log.h"
#include "tracee/host/pressure.h"
#include "tracee/net/infiniband.h"
#include "tracee/proc/proc_limits.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/proc_usage.h"

namespace hangdbg {

struct CgroupState {
  std::optional<CgroupMemory> memory;
  std::optional<CgroupCpu> cpu;
  // While we looked, of one with a limit: how much it was kept from running,
  // how often its limit of memory was reached.
  std::optional<Throttling> throttling;
  std::uint64_t memory_reached = 0;
  std::optional<CgroupPids> pids;
  std::optional<Frozen> frozen;
  std::optional<Pressure> memory_pressure;  // of version 2
};

struct DeletedFile {
  int fd = 0;
  std::string name;
};

struct Limits {
  ProcLimits at_most;
  std::size_t open_files = 0;
  std::optional<std::size_t>
      user_threads;  // of its user, if RLIMIT_NPROC holds
};

struct Machine {
  int cpus = 0;
  int allowed_cpus = 0;  // to the process (sched_setaffinity(2))
  double load = 0;       // of the last minute (proc_loadavg(5))
  std::uint64_t memory_kib = 0, available_kib = 0;
  std::uint64_t swap_kib = 0, swap_free_kib = 0;
  std::optional<Pressure> cpu_pressure, memory_pressure, io_pressure;
};

struct HostContext {
  int pid = 0;
  std::vector<std::string> command_line;  // secrets masked
  ProcStatus status;
  ProcUsage usage;
  CgroupState cgroup;
  Limits limits;
  Machine machine;
  std::vector<Library> libraries;
  std::vector<EnvironmentVariable> variables;
  std::vector<FileSystem> file_systems;
  std::vector<DeletedFile> deleted;
  std::vector<std::string> full_files;  // as long as RLIMIT_FSIZE lets them be
  std::vector<NetworkInterface> interfaces;
  std::vector<InfinibandPort> infiniband;
  std::vector<Gpu> gpus;
  bool gpus_hang = false;  // nvidia-smi did not answer
  // Since the process began: about it, its cgroup, or the machine.
  std::vector<KernelEvent> kernel_events;
  std::vector<std::string> skipped;  // "the file systems: not read in time"
};

enum class Depth {
  Quick,  // what costs some milliseconds: for `diagnose`
  Whole,  // versions of libraries, what other programs say
};

// Errors: NoSuchProcess.
Result<HostContext> read_host_context(int pid, Depth depth, Deadline deadline);

}  // namespace hangdbg
