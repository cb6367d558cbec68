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
  std::optional<Error> error;  // why no more is known
  std::string note;            // for an unknown version of Python; else ""
  // None: it could not be inspected, or not in time.
  std::optional<Diagnosis> found;

  // It waits for another process of the survey, or is in a deadlock cycle and
  // not its first process.
  bool follows = false;

  bool hung() const { return found && found->hung(); }
  bool stalled() const { return found && found->stalled; }
  // There was no time to look into it.
  bool unjudged() const;
  bool is_first() const { return stalled() && !follows; }
  // "stuck", as in `diagnose`; "ended"; "unknown" if it could not be inspected.
  std::string state() const;
  // How long it has waited. None: it does not wait, or that is unknown.
  std::optional<double> waiting_s() const;
};

constexpr double kHungAfterS = 10;

// All visible processes, or only `pids`, by number. Takes some milliseconds,
// some more for each Python process, and, if one of them has just run, a fifth
// of a second. `found` is what `hangdbg diagnose` reports for each, but nothing
// is stopped, and no thread is watched for seconds. Errors: System.
Result<std::vector<SurveyedProcess>> survey(double hung_after_s,
                                            Deadline deadline,
                                            std::vector<int> pids = {});

// The most urgent first: those that hang or are blocked for long, of these
// those that wait for no other, the longest first; then those that poll, then
// all others, by number.
void hung_first(std::vector<SurveyedProcess>& processes);

// How many were not inspected because time ran out.
std::size_t unjudged(const std::vector<SurveyedProcess>& processes);

}  // namespace hangdbg
