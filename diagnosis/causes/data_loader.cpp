// torch's DataLoader: the thread that wants the next batch, and the workers
// that do not bring it.
#include <fmt/core.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/pools.h"
#include "diagnosis/waits/library_waits.h"

namespace hangdbg::causes {
namespace {

struct Workers {
  int count = 0;
  std::vector<ThreadId> busy;
  std::vector<std::string> ended;  // what there is to say of each
  std::size_t unnoticed = 0;       // of those: the parent will never know
};

// All its threads wait for work, the one that hands over batches too.
bool is_idle(const ProcessSnapshot& worker) {
  return std::ranges::all_of(
      worker.python_threads(),
      [](const ThreadSnapshot* one) { return is_worker_loop(*one); });
}

// A child that was reaped by another thread, or by the kernel (SIGCHLD is
// ignored), counts as alive for ever (multiprocessing's Popen.poll).
void add_ended(const ProcessSnapshot& of,
               const PythonFrame& frame,
               int number,
               int pid,
               bool zombie,
               Workers& workers) {
  const bool noticed =
      zombie ||
      of.shown(frame, fmt::format("self._workers[{}]._popen.returncode",
                                  number)) != "None";
  workers.unnoticed += noticed ? 0 : 1;
  workers.ended.push_back(fmt::format(
      "worker {} (process {}) has ended{}", number, pid,
      noticed ? ""
              : ", and its parent's multiprocessing takes it for alive: the "
                "end of it was told to somebody else"));
}

Workers workers_of(const ProcessSnapshot& of, const PythonFrame& frame) {
  constexpr int kMost = 256;
  Workers workers;
  for (; workers.count < kMost; ++workers.count) {
    const auto pid = of.number(
        frame, fmt::format("self._workers[{}]._popen.pid", workers.count));
    if (!pid) {
      break;
    }
    const int worker = static_cast<int>(*pid);
    const auto status = read_status(worker);
    if (!status || status->state == 'Z') {
      add_ended(of, frame, workers.count, worker, status.has_value(), workers);
      continue;
    }
    const ProcessSnapshot* const its = of.system.snapshot(worker);
    if (its == nullptr || !its->is_python() || !is_idle(*its)) {
      workers.busy.push_back({worker, worker});
    }
  }
  return workers;
}

// With pin_memory=True: the thread between the workers and the consumer; null
// if it waits for the workers, or there is none. If it has run since it was
// sampled, it may have a batch that no worker has any more.
const ThreadSnapshot* pins_memory(const ProcessSnapshot& of,
                                  const PythonFrame& frame) {
  const auto ident = of.number(frame, "self._pin_memory_thread._ident");
  const ThreadSnapshot* const thread =
      ident ? of.by_ident(static_cast<std::uint64_t>(*ident)) : nullptr;
  const bool busy =
      thread != nullptr && (!is_worker_loop(*thread) || !still_waits(*thread));
  return busy ? thread : nullptr;
}

// Workers hand over batches through it: a tmpfs, which answers at once.
bool tell_shared_memory(const ProcessSnapshot& of, Cause& cause) {
  struct statvfs shm {};
  const std::string path = fmt::format("/proc/{}/root/dev/shm", of.pid);
  if (::statvfs(path.c_str(), &shm) != 0 || shm.f_blocks == 0) {
    return false;
  }
  const double left =
      static_cast<double>(shm.f_bavail) / static_cast<double>(shm.f_blocks);
  if (left >= 0.02) {
    return false;
  }
  const auto kib = [&](fsblkcnt_t blocks) {
    return blocks * shm.f_frsize >> 10;
  };
  cause.id = CauseId::ShmFull;
  cause.evidence.push_back(
      fmt::format("/dev/shm is full: {} of {} KiB are left", kib(shm.f_bavail),
                  kib(shm.f_blocks)));
  cause.next.push_back(
      {"df -h /dev/shm", "a container wants --shm-size, or --ipc=host"});
  return true;
}

// No worker has the batch, and none is being sent: it was lost when a worker
// handed it over.
void tell_lost(const ProcessSnapshot& of,
               const Workers& workers,
               Cause& cause) {
  cause.id = CauseId::BatchLost;
  cause.progress = Progress::Stuck;
  cause.summary = fmt::format(
      "waits for a batch from its DataLoader that none of its {} workers is "
      "at: it was lost when a worker handed it over",
      workers.count);
  cause.evidence.push_back(
      "all workers, and the threads in them that hand over batches, wait for "
      "work");
  if (tell_shared_memory(of, cause)) {
    cause.summary += ", as /dev/shm is full";
  }
  cause.next.push_back({fmt::format("ls -l /proc/{}/fd/2", of.pid),
                        "where the worker has printed why"});
}

}  // namespace

Found data_loader(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const PythonFrame* frame =
      of.is_python()
          ? thread.find("_try_get_data", "/torch/utils/data/dataloader.py")
          : nullptr;
  if (frame == nullptr) {
    return std::nullopt;
  }
  Workers workers = workers_of(of, *frame);
  Cause cause{.id = CauseId::DataLoader,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.evidence = std::move(workers.ended);
  const std::size_t ended = cause.evidence.size();
  cause.evidence.push_back(
      fmt::format("{} workers, at {}", workers.count, thread.place()));
  cause.summary = fmt::format(
      "waits for a batch from its DataLoader: of {} "
      "workers {}",
      workers.count,
      ended > 0 ? fmt::format("{} have ended", ended)
                : fmt::format("{} are at work", workers.busy.size()));
  if (const ThreadSnapshot* const pins = pins_memory(of, *frame)) {
    cause.blocked_by.push_back(pins->id);
    cause.evidence.push_back("its thread that pins memory is at " +
                             pins->place());
  }
  cause.blocked_by.insert(cause.blocked_by.end(), workers.busy.begin(),
                          workers.busy.end());
  if (ended > 0) {
    // Otherwise it notices that within five seconds, and raises an error.
    cause.id = CauseId::DataLoaderWorkerDead;
    if (workers.unnoticed > 0) {
      cause.progress = Progress::Stuck;
      cause.summary += ", which it does not know";
      cause.blocked_by.clear();
      cause.next.push_back({"dmesg | grep -i oom",
                            "whether the kernel killed it for its memory"});
    }
  } else if (workers.count > 0 && cause.blocked_by.empty() &&
             still_waits(thread)) {
    tell_lost(of, workers, cause);
  } else {
    tell_shared_memory(of, cause);
  }
  return cause;
}

}  // namespace hangdbg::causes
