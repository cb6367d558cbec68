// /proc/PID/status (proc_pid_status(5)): what can be known about a process or
// thread without touching it. Never blocks, not even on a D-state process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

struct ProcStatus {
  std::string name;  // comm, at most 15 bytes
  char state = '?';  // R S D T t Z X I
  int tgid = 0;
  int ppid = 0;
  int tracer_pid = 0;              // 0: none
  std::array<unsigned, 4> uids{};  // real, effective, saved, file system
  int threads = 0;
  int seccomp = 0;                     // 0 none, 1 strict, 2 filter
  std::optional<int> seccomp_filters;  // how many; from Linux 5.9 on
  std::uint64_t capabilities = 0;      // permitted; bit N is capability N
  std::uint64_t effective_capabilities = 0;
  std::uint64_t signals_pending = 0;  // bit N-1 is signal N; for that thread
  std::uint64_t signals_pending_for_all = 0;  // for any of the process
  std::uint64_t signals_blocked = 0;
  std::uint64_t signals_ignored = 0;
  std::uint64_t signals_caught = 0;
  std::string cpus_allowed;  // "0-7,16"
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  bool has_memory = false;          // false for kernel threads and zombies
  std::uint64_t address_space = 0;  // bytes, as RLIMIT_AS counts them
  std::uint64_t data = 0;           // bytes, as RLIMIT_DATA counts them
  int descriptor_slots = 0;         // at least so many as are open
};

Result<ProcStatus> read_status(int pid);
Result<ProcStatus> read_task_status(int pid, int tid);
// Whether the process has ended, or does so before the deadline (pidfd_open(2);
// a zombie has ended).
bool ends_before(int pid, Deadline deadline);

// "process 99 (cc1plus)".
std::string process_text(int pid);

ProcStatus parse_status(const std::string& text);

}  // namespace hangdbg
