// What the requests that resume a thread have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hangdbg::dap {

struct StepArguments {
  std::int64_t thread_id = 0;
  std::optional<bool> single_thread;
  // "statement", "line" or "instruction"
  std::optional<std::string> granularity;
  // To the agent: also calls, returns and exceptions, as in pdb.
  std::optional<bool> events;

  template <class V>
  void fields(V& v) {
    v("threadId", thread_id);
    v("singleThread", single_thread);
    v("granularity", granularity);
    v("hangdbg/events", events);
  }
};

}  // namespace hangdbg::dap
