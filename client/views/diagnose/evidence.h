// A job's diagnosis as it travels from a node, and back into what the cause of
// the whole job is found by.
#pragma once

#include <string>

#include "base/result.h"
#include "diagnosis/jobs/job_diagnosis.h"
#include "protocol/reports/node_diagnosis.h"

namespace hangdbg {

reports::EvidenceJob evidence_of(const JobDiagnosis& found);

// Of `host`. What it says is believed no further than that it is whole. Errors:
// BadMessage.
Status add_evidence(const reports::EvidenceJob& from,
                    const std::string& host,
                    JobDiagnosis& all);

}  // namespace hangdbg
