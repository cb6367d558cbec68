// The processes of this machine as a program reads them (the shape is
// cli.md's).
#pragma once

#include <vector>

#include "inspector/jobs/jobs.h"
#include "protocol/json.h"
#include "server/process_survey.h"

namespace hangdbg {

Json processes_json(const std::vector<SurveyedProcess>& processes,
                    const Jobs& jobs);

}  // namespace hangdbg
