#include "inspector/diagnosis/times.h"

#include <sys/syscall.h>

namespace hangdbg {

bool wakes_by_itself(const CaseThread& thread) {
  const auto& call = thread.wait.call;
  return !call.running && call.number == SYS_futex && call.args[3] != 0;
}

}  // namespace hangdbg
