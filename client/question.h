// A question to one place in a process: what `eval` and `peek` are told, and
// the part of their JSON that says where it was asked.
#pragma once

#include <cstdint>
#include <string>

#include "client/options.h"

namespace hangdbg {

struct Question {
  CommonOptions common;
  TargetOption target;
  PlaceOptions place;
  std::string second;  // the positional after PID

  // With -p PID the expression is the only positional.
  const std::string& pid() const {
    return target.flag.empty() ? target.positional : target.flag;
  }
  const std::string& expression() const {
    return target.flag.empty() ? second : target.positional;
  }
};

// All of its flags and words.
void add_question(CLI::App& command, Question& question, const char* language);

struct JsonPlace {
  std::string function;
  std::string file;
  std::int64_t line = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
  }
};

}  // namespace hangdbg
