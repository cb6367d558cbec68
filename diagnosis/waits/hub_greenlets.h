// The greenlets of a hub of gevent or eventlet that matter to its thread: the
// main one, and those that it joins, as the tasks of an event loop.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct HubGreenlets {
  std::string_view library;
  std::vector<AsyncioTask> tasks;  // the main one first
};

// None: the thread is in no hub, or its main greenlet cannot be read.
std::optional<HubGreenlets> hub_greenlets(const ProcessSnapshot& of,
                                          const ThreadSnapshot& thread);

}  // namespace hangdbg
