#include "inspector/ranks/rank_identity.h"

#include <fmt/core.h>

#include <initializer_list>
#include <string_view>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr int kMostOfANode = 65536;

using Names = std::initializer_list<std::string_view>;

// What a launcher calls its variables; "": it has none for that.
struct Launcher {
  std::string_view kind;
  std::string_view rank, world_size, local_rank, local_size;
};

constexpr Launcher kRankIdentityTorch{kTorchKind, "RANK", "WORLD_SIZE",
                                      "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Launcher kOpenMpi{
    "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Launcher kMpich{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
                          "MPI_LOCALNRANKS"};
constexpr Launcher kSlurm{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                          "SLURM_LOCALID", ""};

std::optional<RankIdentity> launched_as(const Environment& environment);
std::optional<RankIdentity> identity_of(const Environment& environment,
                                        const Launcher& launcher,
                                        std::string job);
std::optional<int> number(const Environment& environment,
                          std::string_view name);
std::string first_variable(const Environment& environment, Names names);
std::string torch_job(const Environment& environment);
std::optional<RankIdentity> task_of_slurm(const Environment& environment);
RankSet numbers(std::string_view text);

}  // namespace

std::optional<RankIdentity> rank_identity(const Environment& environment) {
  const auto launched = launched_as(environment);
  auto torch =
      identity_of(environment, kRankIdentityTorch, torch_job(environment));
  if (!torch || torch->job.empty()) {
    return launched;
  }
  torch->restarts =
      number(environment, "TORCHELASTIC_RESTART_COUNT").value_or(0);
  // A script that has taken RANK over from its launcher: others may not have
  // come to it yet.
  const bool same = launched && launched->rank == torch->rank &&
                    launched->world_size == torch->world_size &&
                    !environment.find("TORCHELASTIC_RUN_ID");
  return same ? launched : torch;
}

std::string rendezvous_address(const Environment& environment) {
  const std::string host = first_variable(environment, {"MASTER_ADDR"});
  const std::string port = first_variable(environment, {"MASTER_PORT"});
  return host.empty() || port.empty() ? "" : fmt::format("{}:{}", host, port);
}

namespace {

// By MPI or Slurm. Slurm's own way to start MPI's ranks (srun --mpi=pmi2)
// numbers them as MPICH does, and gives them the name of its step.
std::optional<RankIdentity> launched_as(const Environment& environment) {
  if (auto identity = identity_of(
          environment, kOpenMpi,
          first_variable(environment,
                         {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
                          "OMPI_MCA_orte_ess_jobid"}))) {
    return identity;
  }
  auto task = task_of_slurm(environment);
  auto mpich =
      identity_of(environment, kMpich,
                  first_variable(environment, {"PMI_JOBID", "PMI_PORT"}));
  return mpich && !(task && task->job == mpich->job) ? mpich : task;
}

// Of a step: the script of a batch job has a number as well, and no step. One
// task alone is a shell's, as often as not.
std::optional<RankIdentity> task_of_slurm(const Environment& environment) {
  const std::string job =
      first_variable(environment, {"SLURM_JOB_ID", "SLURM_JOBID"});
  const std::string step =
      first_variable(environment, {"SLURM_STEP_ID", "SLURM_STEPID"});
  if (job.empty() || step.empty()) {
    return std::nullopt;
  }
  auto identity =
      identity_of(environment, kSlurm, fmt::format("{}.{}", job, step));
  if (!identity || identity->world_size == 1) {
    return std::nullopt;
  }
  identity->node_ranks = numbers(first_variable(environment, {"SLURM_GTIDS"}));
  return identity;
}

std::optional<RankIdentity> identity_of(const Environment& environment,
                                        const Launcher& launcher,
                                        std::string job) {
  const auto rank = number(environment, launcher.rank);
  if (!rank || *rank >= kMostRanks) {
    return std::nullopt;
  }
  RankIdentity identity{.kind = std::string(launcher.kind),
                        .job = std::move(job),
                        .rank = *rank,
                        .world_size = number(environment, launcher.world_size),
                        .local_rank = number(environment, launcher.local_rank),
                        .local_size = number(environment, launcher.local_size)};
  // What cannot be is not from a launcher.
  const auto drop = [](std::optional<int>& size, int number, int most) {
    if (size && (*size <= number || *size > most)) {
      size.reset();
    }
  };
  drop(identity.world_size, identity.rank, kMostRanks);
  drop(identity.local_size, identity.local_rank.value_or(0), kMostOfANode);
  return identity;
}

std::optional<int> number(const Environment& environment,
                          std::string_view name) {
  const auto value = environment.find(name);
  const auto found =
      value ? parse_number<int>(trim(*value)) : std::optional<int>();
  return found && *found >= 0 ? found : std::nullopt;
}

std::string first_variable(const Environment& environment, Names names) {
  for (const std::string_view name : names) {
    if (const auto value = environment.find(name); value && !value->empty()) {
      return std::string(*value);
    }
  }
  return "";
}

// Without a rendezvous a run is called "none" (torch/distributed/run.py). A
// number alone is no rank: there must be a store to meet at.
std::string torch_job(const Environment& environment) {
  std::string run = first_variable(environment, {"TORCHELASTIC_RUN_ID"});
  if (!run.empty() && run != "none") {
    return run;
  }
  return rendezvous_address(environment);
}

// "0,1,2"; nothing of what is anything else.
RankSet numbers(std::string_view text) {
  RankSet found;
  for (const std::string_view word : split(text, ',')) {
    const auto one = parse_number<int>(word);
    if (!one || *one < 0 || *one >= kMostRanks) {
      return {};
    }
    found.add(*one);
  }
  return found;
}

}  // namespace
}  // namespace hangdbg
