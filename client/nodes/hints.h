// Commands that a node proposes, as they are typed on the asking side.
#pragma once

#include <string>

namespace hangdbg {

// Of `how` ("ssh:n[1-8]") that node alone; all of it, where its launcher takes
// no hosts.
std::string via_of_node(const std::string& how, const std::string& node);

// "  try: hangdbg diagnose 79655    why" of a node is asked of that node; what
// names no process, or cannot be asked, stays.
std::string hints_via(const std::string& text,
                      const std::string& how,
                      const std::string& node);

}  // namespace hangdbg
