// A collective of torch.distributed: it waits for the other ranks.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/dist/collective_calls.h"
#include "inspector/jobs/jobs.h"

namespace hangdbg::causes {
namespace {

std::optional<CollectiveCall> call_of(const Case& of,
                                      const CaseThread& thread) {
  const bool distributed =
      std::ranges::any_of(thread.frames(), [](const PythonFrame& frame) {
        return frame.file.find("/torch/distributed/") != frame.file.npos;
      });
  return distributed && of.is_python()
             ? read_collective_call(of.heap(), thread.stack, {})
             : std::nullopt;
}

const Job* job_of(const Jobs& jobs, int pid) {
  const auto job = std::ranges::find_if(
      jobs.jobs, [pid](const Job& one) { return one.find(pid) != nullptr; });
  return job == jobs.jobs.end() ? nullptr : &*job;
}

bool any_in_call(const Case& process) {
  return std::ranges::any_of(process.threads, [&](const CaseThread& thread) {
    return call_of(process, thread).has_value();
  });
}

}  // namespace

Found collective(const Case& of, const CaseThread& thread) {
  const auto call = call_of(of, thread);
  if (!call) {
    return std::nullopt;
  }
  Cause cause{.id = "collective",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely};
  cause.evidence.push_back(thread.place());
  cause.next.push_back(
      {"hangdbg dist", "how far the ranks of each process group have come"});
  const auto jobs = find_jobs(of.world.deadline());
  const Job* const job = jobs ? job_of(*jobs, of.pid) : nullptr;
  cause.sentence =
      fmt::format("waits in {} for the other ranks", printable(call->function));
  if (job == nullptr) {
    return cause;
  }
  for (const int rank : job->missing.numbers()) {
    cause.id = "rank-ended";
    cause.standing = Standing::Stuck;
    cause.confidence = Confidence::Certain;
    cause.evidence.push_back(fmt::format("rank {} has ended", rank));
  }
  if (cause.id == "rank-ended") {
    cause.sentence =
        fmt::format("waits in {} for rank {}, which has ended",
                    printable(call->function), job->missing.numbers().front());
    return cause;
  }
  std::string odd;
  for (const JobRank& rank : job->ranks) {
    const Case* const other =
        rank.pid == of.pid ? nullptr : of.world.look_at(rank.pid);
    if (other != nullptr && !any_in_call(*other)) {
      cause.behind.push_back({rank.pid, rank.pid});
      odd += fmt::format("{}{}", odd.empty() ? "" : ", ", rank.rank);
    }
  }
  if (!odd.empty()) {
    cause.confidence = Confidence::Certain;
    cause.sentence =
        fmt::format("waits in {} for rank {}, which {} not come there",
                    printable(call->function), odd,
                    cause.behind.size() == 1 ? "has" : "have");
  } else if (job->elsewhere.empty()) {
    cause.id = "collective-mismatch";
    cause.confidence = Confidence::Possible;
    cause.sentence = fmt::format(
        "waits in {}, as all ranks here wait in a collective: perhaps not in "
        "the same one",
        printable(call->function));
  }
  return cause;
}

}  // namespace hangdbg::causes
