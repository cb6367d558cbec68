// Where the sources are that the tests read.
#pragma once

#include <string>

namespace hangdbg {

// The repository's root, absolute.
const std::string& source_folder();

}  // namespace hangdbg
