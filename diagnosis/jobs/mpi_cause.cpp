#include "diagnosis/jobs/mpi_cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "diagnosis/waits/awaited_call.h"
#include "diagnosis/waits/rank_words.h"

namespace hangdbg {
namespace {

// "ranks 0,1 in MPI_Recv, rank 2 in MPI_Barrier"
std::string who_is_in_what(const JobDiagnosis& job) {
  std::map<std::string, RankSet> calls;
  for (const RankDiagnosis& rank : job.ranks) {
    calls[rank.call ? rank.call->function : "other things"].add(rank.rank);
  }
  std::string text;
  for (const auto& [call, ranks] : calls) {
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ",
                        ranks_text(ranks), call);
  }
  return text;
}

}  // namespace

bool goes_on_in_mpi(const JobDiagnosis& job) {
  return job.mpi_watch && *job.mpi_watch && (*job.mpi_watch)->went_on;
}

bool stands_in_mpi(const JobDiagnosis& job) {
  return job.mpi_watch && *job.mpi_watch && !(*job.mpi_watch)->went_on;
}

bool message_awaited(const JobDiagnosis& job) {
  return std::ranges::any_of(job.ranks, [](const RankDiagnosis& one) {
    return one.call && is_message(*one.call);
  });
}

Cause going_on_cause(const JobDiagnosis& job) {
  return {.id = CauseId::Runs,
          .progress = Progress::Running,
          .confidence = Confidence::Likely,
          .summary = fmt::format("all {} ranks are in MPI, and go on: {}",
                                 job.ranks.size(), who_is_in_what(job)),
          .evidence = {"one came back from it or was not found there again, or "
                       "data moved between them, while they were watched"}};
}

Cause message_cause(const JobDiagnosis& job, bool hung) {
  const std::string all =
      fmt::format("all {} ranks wait in MPI", job.ranks.size());
  Cause cause{
      .id = CauseId::MpiMessage,
      .progress = hung ? Progress::Stuck : Progress::Blocked,
      .confidence = hung ? Confidence::Likely : Confidence::Possible,
      .summary = fmt::format(
          "{}: {}",
          !job.job.elsewhere.empty()
              ? "those that are seen here wait in MPI, perhaps for others"
          : hung ? all + ", and nobody is left to send what they wait for"
                 : all,
          who_is_in_what(job))};
  tell_of_watch(job, cause);
  return cause;
}

void tell_of_watch(const JobDiagnosis& job, Cause& cause) {
  if (stands_in_mpi(job)) {
    cause.evidence.push_back(fmt::format(
        "none of them came back from it, and nothing moved on connections "
        "between them, in the {:.1f} s that they were watched",
        static_cast<double>((*job.mpi_watch)->time.count()) / 1000));
  } else if (job.mpi_watch && !*job.mpi_watch) {
    cause.evidence.push_back("whether they come back was not counted: " +
                             job.mpi_watch->error().text());
  }
}

}  // namespace hangdbg
