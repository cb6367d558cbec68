// What `fds --json` writes.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/reports/descriptor.h"

namespace hangdbg::reports {

struct Descriptors {
  std::int64_t pid = 0;
  std::vector<Descriptor> descriptors;
  bool complete = true;
  std::int64_t unseen = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("descriptors", descriptors);
    v("complete", complete);
    v("unseen", unseen);
  }
};

}  // namespace hangdbg::reports
