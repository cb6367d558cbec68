// What `hangdbg diagnose` prints for a person.
#pragma once

#include <string>
#include <vector>

#include "client/terminal/render.h"
#include "diagnosis/jobs/job_diagnosis.h"

namespace hangdbg {

std::string diagnosis_text(const Diagnosis& found, const Palette& out);

// `shown`: of these ranks.
std::string job_diagnosis_text(const JobDiagnosis& found,
                               const RankSet& shown,
                               const Palette& out);

// Equal answers are said once.
std::string diagnoses_text(const std::vector<ProcessDiagnosis>& all,
                           const Palette& out);

}  // namespace hangdbg
