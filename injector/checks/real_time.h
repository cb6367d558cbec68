// Whether a thread of ours would get to run in a process. One of a real-time
// class (sched(7)) that never sleeps has its CPU to itself, but for what the
// kernel keeps back for all others together: a twentieth, if that.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace hangdbg {

struct RealTimeThread {
  int pid = 0;
  int tid = 0;
  std::string name;
  unsigned policy = 0;  // SCHED_FIFO, SCHED_RR
  unsigned priority = 0;
  std::uint64_t ran_ns = 0;
};

// By CPU: the thread that has it to itself.
using TakenCpus = std::map<int, RealTimeThread>;

// CPUs that are taken, as far as that matters to the process: it is found out
// where it may not run as widely as we do and its main thread seems to have to
// wait, and takes a second then. Errors: NoCpu if none of its threads may run
// elsewhere.
Result<TakenCpus> check_cpus(int pid);

// What keeps a thread that such a one starts from ever running; null: none.
const TakenCpus::value_type* starved_by(int pid,
                                        int tid,
                                        const TakenCpus& taken);

}  // namespace hangdbg
