// A thread of a pool, or a helper of a library's, that has nothing to do.
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/idle_loops.h"

namespace hangdbg::causes {

Found idle_worker(const Case& of, const CaseThread& thread) {
  const PythonFrame* const loop = idle_loop(thread);
  if (loop == nullptr || thread.wait.state == 'R') {
    return std::nullopt;
  }
  // Workers take turns at their queue: whoever has its lock may have been
  // killed.
  if (auto lock = shared_semaphore(of, thread);
      lock && lock->standing == Standing::Stuck) {
    return lock;
  }
  return Cause{.id = CauseId::Idle,
               .standing = Standing::Idle,
               .confidence = Confidence::Certain,
               .sentence = "waits for work, as it does when there is none",
               .evidence = {place_of(*loop)}};
}

}  // namespace hangdbg::causes
