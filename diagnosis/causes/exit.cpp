// The end of a program: its last line has been run, and the interpreter's exit
// handlers (atexit's, multiprocessing's) wait.
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/rules.h"
#include "inspector/cpython/stacks/thread_names.h"

namespace hangdbg::causes {

Found exit(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() || thread.id.tid != of.pid || thread.frames().empty()) {
    return std::nullopt;
  }
  // A process of multiprocessing does so before its interpreter's end.
  const PythonFrame* last =
      thread.find("_exit_function", "/multiprocessing/util.py");
  if (last == nullptr) {
    last = &thread.frames().back();
    if (last->function == "_shutdown" ||
        !is_at_exit(of.objects(), of.process().python)) {
      return std::nullopt;
    }
  }
  Cause inner = cause_by_later_rules(exit, of, thread);
  if (inner.progress == Progress::Running || inner.id == CauseId::ExitJoin) {
    return inner;
  }
  inner.evidence.push_back("its program has come to its end: it is in " +
                           place_of(*last));
  if (inner.id == CauseId::Join) {
    inner.id = CauseId::ExitJoin;
  } else if (inner.blocked_by.empty() && inner.progress != Progress::Stuck) {
    // A server does not resume here.
    inner.progress = Progress::Blocked;
    inner.id = CauseId::ExitHandler;
  }
  inner.summary = "has come to its end, and " + inner.summary;
  return inner;
}

}  // namespace hangdbg::causes
