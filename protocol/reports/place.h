// Where a frame is, as `eval --json` and `peek --json` show it.
#pragma once

#include <cstdint>
#include <string>

namespace hangdbg::reports {

struct Place {
  std::string function;
  std::string file;
  std::int64_t line = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
  }
};

}  // namespace hangdbg::reports
