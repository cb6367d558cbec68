// A thread of a pool, or a helper thread of a library, that has nothing to do.
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/library_waits.h"

namespace hangdbg::causes {

Found idle_worker(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto loop = worker_loop(thread);
  if (!loop || thread.wait.state == 'R') {
    return std::nullopt;
  }
  // Workers take turns at their queue: the holder of its lock may have been
  // killed.
  if (auto lock = shared_semaphore(of, thread);
      lock && lock->progress == Progress::Stuck) {
    return lock;
  }
  return Cause{.id = CauseId::Idle,
               .progress = Progress::Idle,
               .confidence = Confidence::Certain,
               .summary = sentence_of(of, *loop),
               .evidence = {place_of(*loop->frame)}};
}

}  // namespace hangdbg::causes
