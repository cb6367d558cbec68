// A file that only its owner may read, there as a whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

// Until it is whole it has no name, or, where the file system cannot do that
// (open(2), O_TMPFILE), one that Ctrl-C takes away. `replace`: one of that name
// that is there already. Errors: Usage.
Status write_private(const std::string& path,
                     std::string_view bytes,
                     bool replace);

}  // namespace hangdbg
