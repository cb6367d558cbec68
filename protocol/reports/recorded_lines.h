// The lines of `record -f jsonl`, as far as they are read back: first the head,
// then each run of equal stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct RecordedFrame {
  std::string function, file;
  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
  }
};

struct RecordedRun {
  std::int64_t samples = 0;
  std::vector<RecordedFrame> stack;
  std::optional<std::string> wait;
  template <class V>
  void fields(V& v) {
    v("samples", samples);
    v("stack", stack);
    v("wait", wait);
  }
};

struct RecordedHead {
  double rate = 0, lasted_s = 0;
  template <class V>
  void fields(V& v) {
    v("rate", rate);
    v("lasted_s", lasted_s);
  }
};

}  // namespace hangdbg::reports
