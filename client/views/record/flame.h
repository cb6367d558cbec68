// A flame graph as HTML: boxes of a tree, each as wide as its share, and the
// page around them. The caller says how a box looks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "profiler/profile/profile.h"

namespace hangdbg {

struct FlameLook {
  std::string style;  // "--h:120": its colour
  std::string note;   // below the name, where the pointer is
  std::string mark;   // behind the name: " [0-3]"
};

// `look`: of a node.
std::string draw_flame(const Profile& profile,
                       const std::function<FlameLook(std::uint32_t)>& look);

// One page: no network, no script but for search and zoom. `line` and `tables`
// are HTML.
std::string flame_page(const std::string& title,
                       const std::string& line,
                       const std::string& drawn,
                       const std::string& tables);

}  // namespace hangdbg
