// Functions of a file get the code that is in it now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

struct KeptFunction {
  std::string name;
  std::string why;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("why", why);
  }
};

struct FunctionThatRuns {
  std::int64_t thread_id = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("threadId", thread_id);
    v("name", name);
  }
};

struct Reload {
  static constexpr std::string_view command = "hangdbg/reload";

  struct Arguments {
    std::string path;
    std::optional<std::string> content;  // none: only the path is asked for

    template <class V>
    void fields(V& v) {
      v("path", path);
      v("content", content);
    }
  };

  struct Body {
    std::string path;  // as the code has it
    std::optional<std::vector<std::string>> changed;
    std::optional<std::int64_t> moved;  // they have other lines alone
    std::optional<std::vector<KeptFunction>> kept;
    std::optional<std::vector<std::string>> missing;       // in the file alone
    std::optional<std::vector<FunctionThatRuns>> running;  // in the old code

    template <class V>
    void fields(V& v) {
      v("path", path);
      v("changed", changed);
      v("moved", moved);
      v("kept", kept);
      v("missing", missing);
      v("running", running);
    }
  };
};

}  // namespace hangdbg::dap
