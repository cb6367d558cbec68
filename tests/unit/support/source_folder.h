// Where the sources are that the tests look at.
#pragma once

#include <string>

namespace hangdbg {

// The repository's root, absolute.
const std::string& source_folder();

}  // namespace hangdbg
