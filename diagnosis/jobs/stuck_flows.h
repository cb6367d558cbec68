// Data that does not get from one rank to another. Nothing is read here.
#pragma once

#include <string>

#include "diagnosis/jobs/job_diagnosis.h"

namespace hangdbg {

// Fills in `stuck_flows`, where all ranks wait in collectives, from both ends
// of their connections.
void find_stuck_flows(JobDiagnosis& job);

// "rank 0 does not reach rank 1: 48 bytes are sent again and again, ..."
std::string flow_text(const PeerFlow& flow);

// What the other machine reports about that connection.
std::string far_end_text(const PeerFlow& flow);

}  // namespace hangdbg
