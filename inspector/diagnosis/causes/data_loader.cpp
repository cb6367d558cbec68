// torch's DataLoader: the thread that wants the next batch, and the workers
// that do not bring it.
#include <fmt/core.h>
#include <sys/statvfs.h>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/diagnosis/idle_loops.h"

namespace hangdbg::causes {
namespace {

// Through which workers hand over batches: a tmpfs, which answers at once.
void tell_shared_memory(const Case& of, Cause& cause) {
  struct statvfs shm {};
  const std::string path = fmt::format("/proc/{}/root/dev/shm", of.pid);
  if (::statvfs(path.c_str(), &shm) != 0 || shm.f_blocks == 0) {
    return;
  }
  const double left =
      static_cast<double>(shm.f_bavail) / static_cast<double>(shm.f_blocks);
  if (left < 0.02) {
    cause.id = "shm-full";
    cause.evidence.push_back(fmt::format(
        "/dev/shm is full: {} of {} MB are left",
        shm.f_bavail * shm.f_frsize >> 20, shm.f_blocks * shm.f_frsize >> 20));
    cause.next.push_back(
        {"df -h /dev/shm", "a container wants --shm-size, or --ipc=host"});
  }
}

}  // namespace

Found data_loader(const Case& of, const CaseThread& thread) {
  const PythonFrame* frame =
      of.is_python()
          ? thread.find("_try_get_data", "/torch/utils/data/dataloader.py")
          : nullptr;
  if (frame == nullptr) {
    return std::nullopt;
  }
  Cause cause{.id = "data-loader",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely};
  constexpr int kMostWorkers = 256;
  std::size_t dead = 0;
  int workers = 0;
  for (; workers < kMostWorkers; ++workers) {
    const auto pid =
        of.number(*frame, fmt::format("self._workers[{}]._popen.pid", workers));
    if (!pid) {
      break;
    }
    const int worker = static_cast<int>(*pid);
    const auto status = read_status(worker);
    if (!status || status->state == 'Z') {
      ++dead;
      cause.evidence.push_back(
          fmt::format("worker {} (process {}) has ended", workers, worker));
      continue;
    }
    const Case* const its = of.world.look_at(worker);
    const CaseThread* const main =
        its != nullptr ? its->thread(worker) : nullptr;
    if (main == nullptr || !is_idle_loop(*main)) {
      cause.behind.push_back({worker, worker});
    }
  }
  cause.evidence.push_back(
      fmt::format("{} workers, at {}", workers, thread.place()));
  cause.sentence = fmt::format(
      "waits for a batch from its DataLoader: of {} "
      "workers {}",
      workers,
      dead > 0 ? fmt::format("{} have ended", dead)
               : fmt::format("{} are at work", cause.behind.size()));
  if (dead > 0) {
    cause.id = "data-loader-worker-dead";
  }
  tell_shared_memory(of, cause);
  return cause;
}

}  // namespace hangdbg::causes
