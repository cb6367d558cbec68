// Why a job hangs: the causes of all its ranks, inspected at once, and of these
// the one that the others wait for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/waits/mpi_watch.h"
#include "inspector/jobs/jobs.h"
#include "inspector/jobs/torch/collective_calls.h"
#include "inspector/jobs/torch/peers.h"
#include "inspector/jobs/torch/process_groups.h"
#include "tracee/net/connections.h"

namespace hangdbg {

struct RankDiagnosis {
  int rank = 0;
  int pid = 0;
  Result<Diagnosis> found;
  std::optional<CollectiveCall> call = {};  // it waits there
  ProcessGroups groups = {};
  std::optional<MpiWait> mpi = {};  // where that call returns to
  std::string host = {};            // of another machine; "": this one
  // Read where all ranks of this machine wait in collectives.
  std::optional<Connections> connections = {};
};

// Ranks with the same diagnosis.
struct AlikeRanks {
  RankSet ranks;
  const Diagnosis* first;  // the lowest one's
};

struct JobDiagnosis {
  Job job;
  std::vector<RankDiagnosis> ranks;  // ascending
  std::optional<WaitEdge> launcher;
  // Blocked connections; searched where all wait in collectives.
  std::vector<PeerFlow> stuck_flows;
  // Searched where all wait for each other, and some of them in MPI.
  std::optional<Result<MpiWatch>> mpi_watch;
  Progress state = Progress::Unknown;
  // Proved: a rank is stuck, or others are blocked by one that does not come.
  bool hung = false;
  bool stalled = false;  // as of a process (diagnose.h)
  RankSet odd;           // that have the cause; empty: all ranks alike
  Cause cause;           // its summary names the ranks
  std::vector<std::string> skipped;
  // Between machines, rarest first: "NCCL: 2.19.3 on n3, 2.21.5 on n[1-2]".
  std::vector<std::string> differences;

  // Those among these, outliers first.
  std::vector<AlikeRanks> alike(const RankSet& among) const;
};

JobDiagnosis diagnose_job(const Job& job,
                          double hung_after_s,
                          Deadline deadline);

// Several processes at once that are unrelated.
struct ProcessDiagnosis {
  int pid = 0;
  Result<Diagnosis> found;
};
// Passively: no thread is stopped to be read, or watched for seconds.
enum class Closely { AsNeeded, Passively };
std::vector<ProcessDiagnosis> diagnose_all(const std::vector<int>& pids,
                                           double hung_after_s,
                                           Deadline deadline,
                                           Closely how = Closely::AsNeeded);

}  // namespace hangdbg
