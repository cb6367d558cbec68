// All Python processes of this machine, and which of them hang.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/verdict/hang_verdict.h"

namespace hangdbg {

struct SurveyedProcess {
  int pid = 0;
  int ppid = 0;
  unsigned uid = 0;
  std::string python;  // "3.11.7"; "" when unknown
  Verdict verdict;
  std::vector<std::string> command_line;
  std::optional<Error> error;  // why no more is known of it
};

constexpr double kHungAfterS = 10;

// Those that we may see, by number. Takes some milliseconds and, if one of them
// has just run, a fifth of a second more. Errors: System.
Result<std::vector<SurveyedProcess>> survey(double hung_after_s,
                                            Deadline deadline);

// Those that hang the longest first, then the others by number.
void hung_first(std::vector<SurveyedProcess>& processes);

}  // namespace hangdbg
