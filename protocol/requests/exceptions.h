// The exception that a thread has stopped for, with those that it came of and,
// of a group, its members; or to show the functions that one of them has left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct Exceptions {
  static constexpr std::string_view command = "hangdbg/exceptions";

  struct Arguments {
    std::int64_t thread_id = 0;
    std::optional<std::int64_t> show;  // its place in the list

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("show", show);
    }
  };

  struct One {
    std::string text;
    std::int64_t depth = 0;  // of a group's member, in how many groups it is
    bool shown = false;

    template <class V>
    void fields(V& v) {
      v("text", text);
      v("depth", depth);
      v("shown", shown);
    }
  };

  struct Body {
    std::vector<One> exceptions;  // what came first comes first

    template <class V>
    void fields(V& v) {
      v("exceptions", exceptions);
    }
  };
};

}  // namespace hangdbg::dap
