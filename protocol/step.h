// What the requests that let a thread go on have in common.
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

  template <class V>
  void fields(V& v) {
    v("threadId", thread_id);
    v("singleThread", single_thread);
    v("granularity", granularity);
  }
};

}  // namespace hangdbg::dap
