// The one cause of a job, out of those of its ranks. Nothing is read here.
#pragma once

#include "diagnosis/jobs/job_diagnosis.h"

namespace hangdbg {

// Fills in `hung`, `odd` and `cause`.
void find_job_cause(JobDiagnosis& job, double hung_after_s);

}  // namespace hangdbg
