// A question to one place in a process: what `eval` and `peek` are told, and
// the part of their JSON that says where it was asked.
#pragma once

#include <cstdint>
#include <string>

#include "client/options/options.h"
#include "client/options/via_option.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {

struct Question {
  CommonOptions common;
  ViaOption via;
  TargetOption target;
  JobOptions job;
  PlaceOptions place;
  std::string second;  // the positional after PID
  bool keep = false;   // what eval binds is there for the next one

  // With -p PID, or a job, the expression is the only positional.
  bool has_pid_flag() const { return !target.flag.empty() || job.given(); }
  const std::string& pid() const {
    return has_pid_flag() ? target.flag : target.positional;
  }
  const std::string& expression() const {
    return has_pid_flag() ? target.positional : second;
  }
};

// What to say where there is no expression.
const char* missing_words(const Question& question);

// All of its flags and words.
void add_question(cli::Command command,
                  Question& question,
                  const char* language);

}  // namespace hangdbg
