// The manual page, made of the same declarations that parse a command line.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace hangdbg {

// hangdbg(1) for man(7). `app` has all commands.
std::string manual(const CLI::App& app);

}  // namespace hangdbg
