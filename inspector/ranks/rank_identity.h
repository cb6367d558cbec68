// Which rank of which parallel job a process is, by what its launcher has put
// into its environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "inspector/ranks/rank_set.h"
#include "tracee/program/environment.h"

namespace hangdbg {

// More than any job has: a number beyond is no rank.
constexpr int kMostRanks = 1'000'000;

constexpr std::string_view kTorchKind = "torch";

struct RankIdentity {
  // Whose variables these are: "torch", "Open MPI", "MPICH", "Slurm".
  std::string kind;
  // What all its ranks have in common, and no other job here: a run's name,
  // "HOST:PORT" of its store, the launcher's number for it.
  // "": it has none, and is that of its starter.
  std::string job;
  int rank = 0;
  std::optional<int> world_size;
  std::optional<int> local_rank;  // on this node
  std::optional<int> local_size;  // how many this node has
  RankSet node_ranks;             // which, if its launcher says that
  int restarts = 0;               // torchrun's count of new starts
  bool spawned = false;           // by mp.spawn; its environment has no number

  // It may have started the ranks itself: a task of Slurm or MPI that runs
  // torchrun has a number too, which is its node's.
  bool may_launch() const { return kind != kTorchKind; }
};

// Of one process, as its reader is told.
struct RankOfProcess {
  int rank = 0;
  std::optional<int> world_size;
  std::string job;     // RankIdentity::job
  bool child = false;  // of that rank
};

// PyTorch's own wins: torchrun started by mpirun or srun sets the ranks.
std::optional<RankIdentity> rank_identity(const Environment& environment);

// "HOST:PORT" of the store where torch's ranks meet; "" if it does not say.
std::string rendezvous_address(const Environment& environment);

}  // namespace hangdbg
