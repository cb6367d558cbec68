// A thread resumes, and not because of a request that says so itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hangdbg::dap {

struct Continued {
  static constexpr std::string_view event = "continued";

  struct Body {
    std::int64_t thread_id = 0;
    std::optional<bool> all_threads_continued;  // absent: false

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("allThreadsContinued", all_threads_continued);
    }
  };
};

}  // namespace hangdbg::dap
