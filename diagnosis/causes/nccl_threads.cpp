// Threads that finish a collective for NCCL and torch, and that are gone: they
// run no Python, and are known by their names.
//
// torch: each ProcessGroupNCCL has a watchdog, which ends what is over its
// time, and a monitor of that (ProcessGroupNCCL.cpp). NCCL, under
// NCCL_SET_THREAD_NAME=1: a service, which starts the progress of what goes
// over the network when there is some, and ends it before itself (proxy.cc).
#include <fmt/core.h>

#include <algorithm>

#include "diagnosis/causes/causes.h"

namespace hangdbg::causes {
namespace {

struct Pair {
  std::string_view gone, left;  // how their names begin
  std::string_view what, follows;
};

constexpr Pair kPairs[] = {
    {.gone = "pt_nccl_watchdg",
     .left = "pt_nccl_heartbt",
     .what = "torch's watchdog of NCCL",
     .follows = "no collective is ended when its time is over"},
    {.gone = "NCCL Service",
     .left = "NCCL Progress",
     .what = "NCCL's proxy service",
     .follows = "nobody connects it to another rank"},
};

std::ptrdiff_t count(const ProcessSnapshot& of, std::string_view name) {
  return std::ranges::count_if(of.threads,
                               [name](const ThreadSnapshot& thread) {
                                 return thread.wait.name.starts_with(name);
                               });
}

}  // namespace

void refine_by_nccl_threads(const ProcessSnapshot& of,
                            const ThreadSnapshot&,
                            Cause& cause) {
  const bool for_gpu = cause.id == CauseId::CudaSynchronize;
  if ((!for_gpu && cause.id != CauseId::Collective) ||
      cause.progress == Progress::Running) {
    return;
  }
  for (const Pair& pair : kPairs) {
    const auto left = count(of, pair.left);
    const auto others = count(of, pair.gone);
    if (left <= others) {
      continue;
    }
    if (for_gpu) {  // the collective's rule names its blockers
      cause.id = CauseId::NcclThreadGone;
    }
    cause.summary += fmt::format("; a thread of {} has ended, so that {}",
                                 pair.what, pair.follows);
    cause.evidence.push_back(fmt::format("{} threads {}, and {} {}", left,
                                         pair.left, others, pair.gone));
    cause.next.insert(
        cause.next.begin(),
        {fmt::format("ls -l /proc/{}/fd/2", of.pid),
         "where it has printed why: look for \"terminated with exception\""});
  }
}

}  // namespace hangdbg::causes
