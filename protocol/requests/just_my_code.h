// From now on steps pass by functions of libraries, Python's own and installed
// ones.
#pragma once

#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct JustMyCode {
  static constexpr std::string_view command = "hangdbg/justMyCode";

  using Arguments = Nothing;
  using Body = Nothing;
};

}  // namespace hangdbg::dap
