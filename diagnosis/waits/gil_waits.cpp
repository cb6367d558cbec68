#include "diagnosis/waits/gil_waits.h"

#include "inspector/cpython/runtime/gil_wait.h"

namespace hangdbg {

bool waits_for_gil(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  return of.gil && of.gil->locked && of.gil->holder_tid &&
         of.gil->holder_tid != thread.id.tid && thread.python &&
         is_wait_for_gil(of.memory(), *of.gil, thread.wait.call);
}

}  // namespace hangdbg
