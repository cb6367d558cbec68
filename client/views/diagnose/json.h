// What `hangdbg diagnose --json` prints.
#pragma once

#include <vector>

#include "diagnosis/jobs/job_diagnosis.h"
#include "protocol/json.h"

namespace hangdbg {

Json diagnosis_json(const Diagnosis& found);

// `shown`: of these ranks.
Json job_diagnosis_json(const JobDiagnosis& found, const RankSet& shown);

Json diagnoses_json(const std::vector<ProcessDiagnosis>& all);

}  // namespace hangdbg
