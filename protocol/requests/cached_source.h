// The source that a program keeps in memory, in `linecache`: of what is in no
// file, as a notebook's cell.
#pragma once

#include <string>
#include <string_view>

namespace hangdbg::dap {

struct CachedSource {
  static constexpr std::string_view command = "hangdbg/cachedSource";

  struct Arguments {
    std::string path;

    template <class V>
    void fields(V& v) {
      v("path", path);
    }
  };

  struct Body {
    std::string content;  // empty if there is none

    template <class V>
    void fields(V& v) {
      v("content", content);
    }
  };
};

}  // namespace hangdbg::dap
