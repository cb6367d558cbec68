#include "diagnosis/waits/gil_waits.h"

#include <sys/syscall.h>

namespace hangdbg {

// The GIL's own condition lies beside its flag (struct _gil_runtime_state).
bool waits_for_gil(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  constexpr std::uint64_t kNear = 256;
  const auto& call = thread.wait.call;
  return of.gil && of.gil->locked && of.gil->holder_tid &&
         of.gil->holder_tid != thread.id.tid && thread.python &&
         !call.running && call.number == SYS_futex && of.gil->locked_word &&
         Address{call.args[0]} >= of.gil->locked_word &&
         Address{call.args[0]} < of.gil->locked_word + kNear;
}

}  // namespace hangdbg
