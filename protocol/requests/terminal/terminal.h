// `hangdbg attach` on the server's machine, for a person at another: what it
// prints comes as `hangdbg/output`, its end as `hangdbg/ended`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Screen {
  std::int64_t columns = 80;
  std::int64_t rows = 24;

  template <class V>
  void fields(V& v) {
    v("columns", columns);
    v("rows", rows);
  }
};

struct Terminal {
  static constexpr std::string_view command = "hangdbg/terminal";

  struct Arguments {
    std::optional<std::string> token;    // of the server, where it wants one
    std::vector<std::string> arguments;  // of `attach`
    // Without one it talks on pipes.
    std::optional<Screen> screen;
    std::optional<std::string> term;  // what kind of terminal: TERM

    template <class V>
    void fields(V& v) {
      v("token", token);
      v("arguments", arguments);
      v("screen", screen);
      v("term", term);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
