// Which thread is shown where none is named: main, unless main merely waits for
// other threads (join, a pool, a queue) and exactly one other thread is inside
// the program's own code.
#pragma once

#include <cstddef>
#include <string_view>

#include "inspector/cpython/locks/stdlib_blocking_frames.h"

namespace hangdbg {

// Is told the file of each thread's innermost frame ("": none can be read), of
// main first, as long as wants_more().
class DefaultThread {
 public:
  void next(std::string_view file) {
    const bool waits = !file.empty() && is_stdlib_blocking_file(file);
    if (seen_ == 0) {
      main_waits_ = waits;
    } else if (!file.empty() && !is_library(file)) {
      ++in_own_code_;
      other_ = seen_;
    }
    ++seen_;
  }
  bool wants_more() const {
    return seen_ == 0 || (main_waits_ && in_own_code_ < 2);
  }
  std::size_t chosen() const {  // in the order in which they were told
    return main_waits_ && in_own_code_ == 1 ? other_ : 0;
  }

 private:
  std::size_t seen_ = 0;
  std::size_t in_own_code_ = 0;
  std::size_t other_ = 0;
  bool main_waits_ = false;
};

}  // namespace hangdbg
