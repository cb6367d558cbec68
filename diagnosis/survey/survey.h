// All Python processes of this machine, what each does, and which of them hang.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/survey/activity.h"

namespace hangdbg {

struct SurveyedProcess {
  int pid = 0;
  int ppid = 0;
  unsigned uid = 0;
  std::string python;  // "3.11.7"; "" when unknown
  Activity activity;
  std::vector<std::string> command_line;
  std::optional<Error> error;  // why no more is known of it
  std::string note;  // of a version of Python that is not known; else ""
  // None where it could not be looked into, or not in time.
  std::optional<Diagnosis> found;

  // It waits because another process of the survey does, or is not the first
  // one of those that wait for each other.
  bool follows = false;

  bool hung() const { return found && found->hung(); }
  bool stalled() const { return found && found->stalled; }
  bool is_first() const { return stalled() && !follows; }
  // "stuck", as in `diagnose`; "ended"; "unknown" where it could not be
  // looked into.
  std::string state() const;
  // For how long it waits. None: it does not, or that is not known.
  std::optional<double> waiting_s() const;
};

constexpr double kHungAfterS = 10;

// Those that we may see, or of `pids` alone, by number. Takes some
// milliseconds, some more for each Python process, and, if one of them has just
// run, a fifth of a second. What `hangdbg diagnose` says of each is `found`;
// but nothing is stopped, and no thread is watched for seconds. Errors: System.
Result<std::vector<SurveyedProcess>> survey(double hung_after_s,
                                            Deadline deadline,
                                            std::vector<int> pids = {});

// What needs a person first: those that hang or are blocked for long, of these
// those that wait for no other, the longest first; then those that poll, then
// all others, by number.
void hung_first(std::vector<SurveyedProcess>& processes);

// How many were not looked into because time was up.
std::size_t unjudged(const std::vector<SurveyedProcess>& processes);

}  // namespace hangdbg
