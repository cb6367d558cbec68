#include "protocol/version.h"

namespace hangdbg {

const char* version() {
  return HANGDBG_VERSION;
}

}  // namespace hangdbg
