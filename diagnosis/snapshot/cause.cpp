#include "diagnosis/snapshot/cause.h"

namespace hangdbg {

std::string_view progress_name(Progress progress) {
  switch (progress) {
    case Progress::Running:
      return "running";
    case Progress::Idle:
      return "idle";
    case Progress::Polling:
      return "polling";
    case Progress::Unknown:
      return "unknown";
    case Progress::Blocked:
      return "blocked";
    case Progress::Stuck:
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
