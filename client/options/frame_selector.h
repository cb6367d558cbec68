// Which frame --frame means: a number, the innermost of a function, or the
// innermost outside libraries ("own"). The same number is another function in
// each rank, where their ways part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// What is asked of a frame.
struct FrameName {
  std::string_view function;  // qualified or not
  std::string_view file;
};

class FrameSelector {
 public:
  // The innermost.
  FrameSelector() = default;
  explicit FrameSelector(std::size_t number) : number_(number) {}
  static FrameSelector own();
  // Error: Usage.
  static Result<FrameSelector> parse(std::string_view word);

  // Whether it was parsed, and is not the default.
  bool is_given() const { return given_; }
  // As parse takes it.
  std::string text() const;

  // The index into `frames`, innermost first: of "own" 0, if all are of
  // libraries. Errors: NoSuchFrame. `thread`: how it is called in them.
  Result<std::size_t> find(const std::vector<FrameName>& frames,
                           std::string_view thread) const;

 private:
  std::size_t number_ = 0;
  std::string function_;
  bool own_ = false;
  bool given_ = false;
};

}  // namespace hangdbg
