// An exception is raised in a thread that is held, which resumes with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hangdbg::dap {

struct Raise {
  static constexpr std::string_view command = "hangdbg/raise";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::int64_t frame_id = 0;
    std::string expression;  // a class or an instance

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("frameId", frame_id);
      v("expression", expression);
    }
  };

  struct Body {
    std::string when;  // "now"; "later": when its call returns

    template <class V>
    void fields(V& v) {
      v("when", when);
    }
  };
};

}  // namespace hangdbg::dap
