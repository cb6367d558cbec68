// What `hangdbg` alone says below its table: why it hangs, a line for a job or
// a process, and what to type.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "client/terminal/render.h"
#include "diagnosis/survey/survey.h"
#include "inspector/jobs/jobs.h"

namespace hangdbg {

// Of a few, within a few seconds at most; empty if none hang. `processes`:
// those that hang first.
std::string causes_text(const std::vector<SurveyedProcess>& processes,
                        const Jobs& jobs,
                        Deadline deadline,
                        const Palette& out);

}  // namespace hangdbg
