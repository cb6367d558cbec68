#include "nodes/processes/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace hangdbg {

void allow_descriptors(unsigned long wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace hangdbg
