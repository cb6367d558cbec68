#include "diagnosis/snapshot/cause.h"

namespace hangdbg {

std::string_view standing_name(Standing standing) {
  switch (standing) {
    case Standing::Works:
      return "works";
    case Standing::Idle:
      return "idle";
    case Standing::Waits:
      return "waits";
    case Standing::Stuck:
      return "stuck";
  }
  return "?";
}

std::string_view confidence_name(Confidence confidence) {
  switch (confidence) {
    case Confidence::Possible:
      return "possible";
    case Confidence::Likely:
      return "likely";
    case Confidence::Certain:
      return "certain";
  }
  return "?";
}

}  // namespace hangdbg
