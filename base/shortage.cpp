#include "base/shortage.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"

namespace hangdbg {
namespace {

constexpr rlim_t kEnoughDescriptors = 1024;

// Whether an error of this kind may come of a file that could not be opened.
bool may_lack_descriptors(ErrorId id) {
  const int code = exit_code(id);
  return id != ErrorId::Usage && code >= 2 && code <= 4;
}

Error out_of_descriptors(int why) {
  if (why == ENFILE) {
    return {.id = ErrorId::OutOfResources,
            .message = "this machine is out of file descriptors",
            .hint = "sysctl fs.file-nr fs.file-max"};
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {
      .id = ErrorId::OutOfResources,
      .message = fmt::format(
          "out of file descriptors: hangdbg may have {} (ulimit -n)",
          limit.rlim_cur),
      .hint = limit.rlim_max > limit.rlim_cur
                  ? fmt::format("ulimit -n {}",
                                std::min(limit.rlim_max, kEnoughDescriptors))
                  : "a higher hard limit, as root: prlimit --nofile"};
}

}  // namespace

Error with_its_cause(const Error& noticed) {
  if (const int why = descriptors_refused;
      why != 0 && may_lack_descriptors(noticed.id)) {
    return out_of_descriptors(why);
  }
  // Of a call whose descriptors no Fd owned yet: pipe2(2), a library's.
  const int why = noticed.errno_value;
  if (noticed.id == ErrorId::System && (why == EMFILE || why == ENFILE)) {
    return out_of_descriptors(why);
  }
  return noticed;
}

}  // namespace hangdbg
