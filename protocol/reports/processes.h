// Several processes' answers, of `threads`, `locks`, `net`, `fds` and `tree`.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/json.h"
#include "protocol/reports/error.h"

namespace hangdbg::reports {

// Of one that could not be read.
struct FailedProcess {
  std::int64_t pid = 0;
  ReportedError error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("error", error);
  }
};

struct Processes {
  std::vector<Json> processes;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
  }
};

}  // namespace hangdbg::reports
