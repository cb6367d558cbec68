// A collective that does not come to its end, with a version of NCCL that is
// known to hang as it is used here.
#include "diagnosis/causes/causes.h"
#include "inspector/host/known_hangs.h"
#include "inspector/host/surroundings.h"

namespace hangdbg::causes {

void explain_by_known_version(const Case& of, const CaseThread&, Cause& cause) {
  if (cause.id != CauseId::Collective) {
    return;
  }
  const auto libraries = read_libraries(of.pid);
  if (!libraries) {
    return;
  }
  for (const std::string& known :
       known_hangs(*libraries, of.world.around(of.pid).variables)) {
    cause.evidence.push_back(known);
  }
}

}  // namespace hangdbg::causes
