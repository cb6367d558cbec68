// What is longer than the screen, a screenful at a time.
#pragma once

namespace hangdbg {

// While it lives, what say() writes to stdout is kept; then it is shown: by
// $PAGER if it has more lines than the terminal and there is one, else with
// --More-- after each screenful (space, Enter, q, Ctrl-C). Shown at once where
// stdin or stdout is no terminal.
class Paged {
 public:
  explicit Paged(bool wanted);
  ~Paged();
  Paged(const Paged&) = delete;
  Paged& operator=(const Paged&) = delete;

 private:
  bool keeps_ = false;
};

}  // namespace hangdbg
