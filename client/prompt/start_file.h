// Commands of the user's own that run as the prompt opens: aliases, displays.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// The lines of $XDG_CONFIG_HOME/hangdbg/prompt, else ~/.config/hangdbg/prompt,
// without comments; none if there is no such file. Never of the folder that we
// are in, as pdb does: that may be a stranger's. Errors: NotPermitted, if
// another user could have written it.
Result<std::vector<std::string>> start_commands();

}  // namespace hangdbg
