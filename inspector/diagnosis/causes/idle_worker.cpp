// A thread of a pool, or a helper of a library's, that has nothing to do.
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/diagnosis/idle_loops.h"

namespace hangdbg::causes {

Found idle_worker(const Case&, const CaseThread& thread) {
  const PythonFrame* const loop = idle_loop(thread);
  if (loop == nullptr || thread.wait.state == 'R') {
    return std::nullopt;
  }
  return Cause{.id = "idle",
               .standing = Standing::Idle,
               .confidence = Confidence::Certain,
               .sentence = "waits for work, as it does when there is none",
               .evidence = {place_of(*loop)}};
}

}  // namespace hangdbg::causes
