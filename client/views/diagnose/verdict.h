// The words for what can be said of a process or a job: the same in `ps`,
// `hangdbg` alone, `diagnose` and `tree`. "hangs" is said only where it is
// proved.
#pragma once

#include <optional>
#include <string>

#include "diagnosis/jobs/job_diagnosis.h"

namespace hangdbg {

std::string verdict_words(const Diagnosis& found);  // "is blocked (41 s)"

// The same and why: what the process waits for, and the end of that chain.
// "is blocked (41 s): waits for the Lock `a`, which ..."
std::string verdict_line(const Diagnosis& found);
std::string verdict_line(const JobDiagnosis& found);

// What `--exit-state` exits with: 0 of what runs or is idle, else 10 to 13.
int exit_code_of(Progress state);

}  // namespace hangdbg
