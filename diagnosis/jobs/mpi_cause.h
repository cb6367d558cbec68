// The cause of a job whose ranks all wait in MPI, each for others, as far as
// their progress was watched.
#pragma once

#include "diagnosis/jobs/job_diagnosis.h"

namespace hangdbg {

bool goes_on_in_mpi(const JobDiagnosis& job);
bool stands_in_mpi(const JobDiagnosis& job);

// One of them waits for a message of MPI.
bool message_awaited(const JobDiagnosis& job);

Cause going_on_cause(const JobDiagnosis& job);
// Each waits for a send or a receive of another rank, which waits itself.
Cause message_cause(const JobDiagnosis& job, bool hung);

// The evidence from the watch.
void tell_of_watch(const JobDiagnosis& job, Cause& cause);

}  // namespace hangdbg
