// Two recordings, read, compared and shown: as text or JSON, and as a page.
#pragma once

#include <string>

#include "base/result.h"
#include "client/options/options.h"

namespace hangdbg {

// Files, or "-" for standard input. `page`: where the flame graph goes; "":
// none. With one, text is left out. Errors: of the files.
Status show_comparison(const std::string& before,
                       const std::string& after,
                       const std::string& page,
                       const CommonOptions& common);

}  // namespace hangdbg
