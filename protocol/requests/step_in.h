// To the next line, also in a function that is called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct StepIn {
  static constexpr std::string_view command = "stepIn";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::optional<bool> single_thread;
    std::optional<std::int64_t> target_id;  // of stepInTargets
    std::optional<std::string> granularity;
    std::optional<bool> events;  // see StepArguments

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("singleThread", single_thread);
      v("targetId", target_id);
      v("granularity", granularity);
      v("hangdbg/events", events);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
