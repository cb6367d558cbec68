#include "client/terminal/piped_lines.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "client/terminal/interrupt.h"

namespace hangdbg {
namespace {

constexpr timespec kBetweenPipedLooks = {0, 200'000'000};

}  // namespace

PipedLines::Came PipedLines::read(std::string& line,
                                  const std::function<void()>& meanwhile) {
  AwaitedInput input({SIGINT});
  for (;;) {
    if (Interruptible::take()) {
      return Came::Interrupt;
    }
    std::array<pollfd, 1> ready = {{{STDIN_FILENO, POLLIN, 0}}};
    const int count =
        input.wait(ready, meanwhile ? &kBetweenPipedLooks : nullptr);
    if (count == 0) {
      meanwhile();
    }
    char byte = 0;
    const auto got = count > 0 ? input.read(byte) : AwaitedInput::Got::Nothing;
    if (got == AwaitedInput::Got::Byte) {
      begun_ += byte;
    }
    if (got == AwaitedInput::Got::End && begun_.empty()) {
      return Came::End;
    }
    if (got == AwaitedInput::Got::End ||
        (got == AwaitedInput::Got::Byte && byte == '\n')) {
      line = std::exchange(begun_, {});
      return Came::Line;
    }
  }
}

}  // namespace hangdbg
