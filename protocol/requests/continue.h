// Resumes a thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hangdbg::dap {

struct Continue {
  static constexpr std::string_view command = "continue";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::optional<bool> single_thread;

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("singleThread", single_thread);
    }
  };

  struct Body {
    std::optional<bool> all_threads_continued;  // absent: true

    template <class V>
    void fields(V& v) {
      v("allThreadsContinued", all_threads_continued);
    }
  };
};

}  // namespace hangdbg::dap
