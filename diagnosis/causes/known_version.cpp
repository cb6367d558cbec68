// A collective that does not finish, with a version of NCCL that is known to
// hang when used as here.
#include "diagnosis/causes/causes.h"
#include "inspector/host/host_context.h"
#include "inspector/host/known_hangs.h"

namespace hangdbg::causes {

void refine_by_known_version(const ProcessSnapshot& of,
                             const ThreadSnapshot&,
                             Cause& cause) {
  if (cause.id != CauseId::Collective) {
    return;
  }
  const auto libraries = read_libraries(of.pid);
  if (!libraries) {
    return;
  }
  for (const std::string& known :
       known_hangs(*libraries, of.system.around(of.pid).variables)) {
    cause.evidence.push_back(known);
  }
}

}  // namespace hangdbg::causes
