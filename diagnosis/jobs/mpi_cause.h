// What is said of a job whose ranks all wait in MPI, each for others, as far as
// it was watched whether they go on.
#pragma once

#include "diagnosis/jobs/job_diagnosis.h"

namespace hangdbg {

bool goes_on_in_mpi(const JobDiagnosis& job);
bool stands_in_mpi(const JobDiagnosis& job);

// A message of MPI is what one of them waits for.
bool message_awaited(const JobDiagnosis& job);

Cause going_on_cause(const JobDiagnosis& job);
// Each waits for what another one would send or take if it did not wait itself.
Cause message_cause(const JobDiagnosis& job, bool hung);

// The evidence that is in the watch.
void tell_of_watch(const JobDiagnosis& job, Cause& cause);

}  // namespace hangdbg
