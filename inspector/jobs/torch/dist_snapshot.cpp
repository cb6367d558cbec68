#include "inspector/jobs/torch/dist_snapshot.h"

#include <utility>

#include "inspector/snapshot/process_dump.h"

namespace hangdbg {

Result<DistSnapshot> read_dist(const Target& target) {
  ProcessDump dump = TRY(dump_process(target, {.may_stop = false}));
  DistSnapshot look{.pid = target.pid, .python = dump.python};
  const ObjectReader objects =
      TRY(ObjectReader::open(target.memory, target.python));
  auto groups = read_process_groups(objects, target);
  if (groups) {
    look.groups = *std::move(groups);
  } else {
    look.why_no_groups = std::move(groups).error();
  }
  for (DumpedThread& thread : dump.threads) {
    auto call = read_collective_call(objects, thread.stack, look.groups);
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
