// AwaitedInput: waits for a key, and overlooks no signal.
//
// Two races lose a Ctrl-C until the next key. A signal may come between the
// look at what its handler has set and the wait: while this lives, such signals
// are blocked outside wait(). And Ctrl-C empties the terminal's queue, maybe
// after a wait has found a key there: read() does not wait for another.
#pragma once

#include <poll.h>

#include <csignal>
#include <ctime>
#include <initializer_list>
#include <span>

#include "base/fd.h"

namespace hangdbg {

class AwaitedInput {
 public:
  explicit AwaitedInput(std::initializer_list<int> signals);
  ~AwaitedInput();
  AwaitedInput(const AwaitedInput&) = delete;
  AwaitedInput& operator=(const AwaitedInput&) = delete;

  // As ppoll() returns; below 0 after a signal.
  int wait(std::span<pollfd> fds, const timespec* limit = nullptr) const;

  // One byte of stdin, of which wait() has said that it can be read.
  enum class Got { Byte, Nothing, End };
  Got read(char& byte);

 private:
  int nonblocking_input();

  sigset_t before_{};
  Fd own_;  // stdin's terminal, opened once more
};

}  // namespace hangdbg
