// One command for many ranks at once: a hangdbg of its own for each, so that
// what holds one up, or kills it, costs the others nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/terminal/render.h"
#include "inspector/jobs/jobs.h"

namespace hangdbg {

struct RankOutput {
  JobRank rank;
  std::string out;
  std::string err;
  int code = 0;  // its exit code; of one that was killed 128 + the signal
  // Why it was not run, or killed by us; its code is that one's then:
  // TimedOut, Interrupted.
  std::optional<ErrorId> gave_up = {};
};

// `words`: of the command, behind "hangdbg". Each may take until the deadline,
// and a moment to say that it could not. Ctrl-C goes to all of them. In the
// order of the ranks. Errors: System.
Result<std::vector<RankOutput>> run_for_each(
    const std::vector<JobRank>& ranks,
    const std::function<std::vector<std::string>(const JobRank&)>& words,
    Deadline deadline);

// Each line with its rank before it.
void show_output(const RankOutput& output, ColourChoice colour);

// Why there is no answer of it, if we gave up.
std::string_view no_answer(const RankOutput& output);

// The exit code of all: that of Ctrl-C, if that was pressed; the same as
// theirs, if that is the same; else 1, as where one that was meant is not here.
int code_of(const std::vector<RankOutput>& outputs, bool absent);

}  // namespace hangdbg
