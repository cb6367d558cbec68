// This session coordinates others in the same process, which join it by the
// name of a job: they hold no thread before it permits that, and resume all
// when it ends (agent/coordination.py). Its `hangdbg/limit` is theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/breakpoint.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct Coordinate {
  static constexpr std::string_view command = "hangdbg/coordinate";

  struct Arguments {
    std::string job;
    // From now on they may hold threads, for so long, and do so at the
    // breakpoints that they have now; at these, once one of those has begun.
    std::optional<bool> live;
    std::optional<std::int64_t> milliseconds;
    std::optional<std::vector<Collective>> after;

    template <class V>
    void fields(V& v) {
      v("job", job);
      v("live", live);
      v("milliseconds", milliseconds);
      v("after", after);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
