// The processes of this machine as a program reads them (the shape is
// cli.md's).
#pragma once

#include <vector>

#include "diagnosis/survey/survey.h"
#include "inspector/jobs/jobs.h"
#include "protocol/json.h"

namespace hangdbg {

Json processes_json(const std::vector<SurveyedProcess>& processes,
                    const Jobs& jobs);

}  // namespace hangdbg
