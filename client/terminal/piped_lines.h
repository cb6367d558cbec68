// PipedLines: lines of a stdin on which nobody edits, byte by byte, so that
// what follows a line is left for who reads it next.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "client/terminal/awaited_input.h"

namespace hangdbg {

class PipedLines {
 public:
  enum class Came { Line, End, Interrupt };

  // The line comes with its end, if it has one. `meanwhile`, if there is one,
  // is called now and then.
  Came read(std::string& line, const std::function<void()>& meanwhile);

 private:
  std::string begun_;
};

}  // namespace hangdbg
