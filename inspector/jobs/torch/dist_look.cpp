#include "inspector/jobs/torch/dist_look.h"

#include <utility>

#include "inspector/snapshot/process_dump.h"

namespace hangdbg {

Result<DistLook> look_at_dist(const Subject& subject) {
  ProcessDump dump = TRY(dump_process(subject, {.may_stop = false}));
  DistLook look{.pid = subject.pid, .python = dump.python};
  const Heap heap = TRY(Heap::open(subject.memory, subject.python));
  auto groups = read_process_groups(heap, subject);
  if (groups) {
    look.groups = *std::move(groups);
  } else {
    look.why_no_groups = std::move(groups).error();
  }
  for (DumpedThread& thread : dump.threads) {
    auto call = read_collective_call(heap, thread.stack, look.groups);
    if (call || look.threads.empty()) {
      look.threads.push_back({.tid = thread.tid,
                              .name = std::move(thread.name),
                              .state = std::move(thread.state),
                              .waiting_s = thread.waiting_s,
                              .call = std::move(call),
                              .frames = std::move(thread.stack.frames)});
    }
  }
  return look;
}

}  // namespace hangdbg
