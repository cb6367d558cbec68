#include "diagnosis/snapshot/cause_id.h"

#include <array>
#include <cstddef>

namespace hangdbg {
namespace {

constexpr std::array<std::string_view, 75> kCauseNames = {
    "asyncio-blocked",
    "await-cycle",
    "backward",
    "batch-lost",
    "busy-loop",
    "child",
    "collective",
    "collective-mismatch",
    "condition",
    "cpu-throttled",
    "cuda-synchronize",
    "data-loader",
    "data-loader-worker-dead",
    "deadlock",
    "descriptors-used-up",
    "disk-full",
    "dns",
    "ended",
    "exit-handler",
    "exit-join",
    "fifo-open",
    "file-lock",
    "fork-lock",
    "fork-threads",
    "frozen",
    "future",
    "future-unset",
    "gil",
    "gil-held",
    "idle",
    "import-lock",
    "join",
    "launcher",
    "lock-file",
    "lock-of-dead-process",
    "lock-of-ended-thread",
    "logging-lock",
    "loop-not-woken",
    "manager-call",
    "memory-limit",
    "memory-throttled",
    "mount",
    "mpi-message",
    "mutex",
    "nccl-init",
    "nccl-thread-gone",
    "nobody-left",
    "openmp-fork",
    "peer-does-not-read",
    "peer-silent",
    "peer-unreachable",
    "pipe-full",
    "pipe-read",
    "polls",
    "pool-exhausted",
    "pool-result",
    "process-limit",
    "python-lock",
    "rank-ended",
    "rendezvous",
    "runs",
    "serves",
    "shared-lock",
    "shared-wait",
    "shm-full",
    "sleeps",
    "stale-lock-file",
    "stopped",
    "store-wait",
    "subprocess-pipe",
    "task-lost",
    "terminal-input",
    "traced",
    "unknown",
    "writer-gone",
};
static_assert(kCauseNames.size() ==
              static_cast<std::size_t>(CauseId::WriterGone) + 1);

}  // namespace

std::string_view cause_name(CauseId id) {
  return kCauseNames[static_cast<std::size_t>(id)];
}

}  // namespace hangdbg
