// Which Python the agent finds itself in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Hello {
  static constexpr std::string_view command = "hangdbg/hello";

  using Arguments = Nothing;

  struct Body {
    std::string python;          // "3.8.18"
    std::string implementation;  // "cpython"
    std::int64_t pid = 0;
    std::int64_t main_thread_id = 0;  // the kernel's; 0: unknown
    std::string executable;
    bool waits = false;  // a thread of it, for a debugger (python/hangdbg)

    template <class V>
    void fields(V& v) {
      v("python", python);
      v("implementation", implementation);
      v("pid", pid);
      v("mainThreadId", main_thread_id);
      v("executable", executable);
      v("waits", waits);
    }
  };
};

}  // namespace hangdbg::dap
