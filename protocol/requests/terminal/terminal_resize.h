// The person's terminal has another size now.
#pragma once

#include <string_view>

#include "protocol/requests/terminal/terminal.h"
#include "protocol/types.h"

namespace hangdbg::dap {

struct TerminalResize {
  static constexpr std::string_view command = "hangdbg/resize";
  using Arguments = Screen;
  using Body = Nothing;
};

}  // namespace hangdbg::dap
