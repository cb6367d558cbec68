// A file of source as the target names it.
//
// Read out of process: a name leads nowhere but to a regular file below the
// target's root directory, and a relative one begins at its working directory.
#pragma once

#include <optional>
#include <string>

namespace hangdbg {

// `root` is "/proc/79655/root", or a folder; `pid` whose working directory
// counts, if it still has one. Empty if there is no such file, or a very large
// one.
std::string read_target_text(const std::string& root,
                             std::optional<int> pid,
                             const std::string& path);

}  // namespace hangdbg
