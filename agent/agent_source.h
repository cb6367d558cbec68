// The agent: Python source that the bootstrap runs inside the target.
//
// Embedded in this program (agent_source.S), so that nothing else need exist on
// the machine or in the target.
#pragma once

#include <string_view>

namespace hangdbg {

// What the bootstrap compiles first: defines handle() and forget().
std::string_view agent_core_source();

// What the request hangdbg/load brings later: "completions" (the request of
// that name) or "objects" (hangdbg/whatis, hangdbg/source, hangdbg/pretty).
// Empty for any other name.
std::string_view agent_module_source(std::string_view name);

}  // namespace hangdbg
