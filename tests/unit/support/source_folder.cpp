#include "tests/unit/support/source_folder.h"

namespace hangdbg {

const std::string& source_folder() {
  static const std::string folder = HANGDBG_SOURCE_DIR;
  return folder;
}

}  // namespace hangdbg
