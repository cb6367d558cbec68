// What servers do between two requests: they wait for any of several
// descriptors, or for who connects.
#include <fmt/core.h>

#include <algorithm>

#include "inspector/diagnosis/awaited_files.h"
#include "inspector/diagnosis/causes/causes.h"

namespace hangdbg::causes {

Found events(const Case& of, const CaseThread& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (!awaited.any) {
    return std::nullopt;
  }
  const bool accepts =
      thread.sleeps_in("accept") || thread.sleeps_in("accept4");
  return Cause{.id = "idle",
               .standing = Standing::Idle,
               .confidence = Confidence::Likely,
               .sentence = accepts ? "waits for who connects"
                                   : fmt::format("waits for events on {} {}",
                                                 awaited.files.size(),
                                                 awaited.files.size() == 1
                                                     ? "descriptor"
                                                     : "descriptors"),
               .evidence = {fmt::format("{} at {}", thread.wait.syscall,
                                        thread.place())}};
}

}  // namespace hangdbg::causes
