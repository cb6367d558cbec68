// A collective of torch.distributed or MPI, or a message of MPI: it waits for
// the other ranks.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/rules.h"
#include "diagnosis/waits/awaited_call.h"
#include "diagnosis/waits/call_watch.h"
#include "diagnosis/waits/nccl_call.h"
#include "diagnosis/waits/rank_words.h"
#include "diagnosis/waits/rendezvous.h"
#include "inspector/jobs/jobs.h"

namespace hangdbg::causes {
namespace {

const Job* job_of(const Jobs& jobs, int pid) {
  const auto job = std::ranges::find_if(
      jobs.jobs, [pid](const Job& one) { return one.find(pid) != nullptr; });
  return job == jobs.jobs.end() ? nullptr : &*job;
}

RankAtMeeting at_meeting(const ProcessSnapshot& of, int rank) {
  RankAtMeeting seen{.rank = rank, .groups = &of.process_groups()};
  for (const ThreadSnapshot& thread : of.threads) {
    if (seen.call = awaited_call(of, thread); seen.call) {
      return seen;
    }
  }
  const ThreadSnapshot* const main = of.thread(of.pid);
  if (main != nullptr && cause_of(of, *main).id == CauseId::Collective) {
    seen.call = pending_call(of, *main);
  }
  return seen;
}

// A running rank may reach the collective soon; a wait in MPI runs, too.
bool may_come(const ProcessSnapshot& of, int pid) {
  const ProcessSnapshot* const other = of.system.snapshot(pid);
  const ThreadSnapshot* const main = other ? other->thread(pid) : nullptr;
  return main != nullptr && (main->ran || main->wait.state == 'R');
}

// Finds the ranks that this rank waits for.
void follow(const ProcessSnapshot& of, const Job& job, Cause& cause) {
  std::vector<int> pids;
  std::ranges::transform(job.ranks, std::back_inserter(pids), &JobRank::pid);
  of.system.take_snapshots(pids);
  std::vector<RankAtMeeting> ranks;
  const bool before = std::exchange(of.system.ranks_apart, true);
  int own = 0;
  for (const JobRank& rank : job.ranks) {
    if (const ProcessSnapshot* const other = of.system.snapshot(rank.pid)) {
      ranks.push_back(at_meeting(*other, rank.rank));
    }
    own = rank.pid == of.pid ? rank.rank : own;
  }
  of.system.ranks_apart = before;
  const Meeting meeting = meet(ranks, job.missing);
  const auto waits_for = meeting.waits_for.find(own);
  if (waits_for == meeting.waits_for.end()) {
    return;  // it has resumed since
  }
  const RankSet& awaited = waits_for->second;
  const CollectiveCall& call =
      *std::ranges::find(ranks, own, &RankAtMeeting::rank)->call;
  RankSet ended;
  for (const int rank : awaited.numbers()) {
    const auto other = std::ranges::find(job.ranks, rank, &JobRank::rank);
    if (other == job.ranks.end()) {
      ended.add(rank);
    } else if (!is_of_mpi(call) || !may_come(of, other->pid)) {
      cause.blocked_by.push_back({other->pid, other->pid});
    }
  }
  const std::string in =
      fmt::format("waits in {} for {}", call_words(call),
                  is_message(call) ? "a message, perhaps of " : "");
  const Confidence sure =
      is_message(call) ? Confidence::Likely : Confidence::Certain;
  if (!ended.empty()) {
    cause.id = CauseId::RankEnded;
    cause.progress = Progress::Stuck;
    cause.confidence = sure;
    cause.blocked_by.clear();
    cause.summary = fmt::format("{}{}, which {} ended", in, ranks_text(ended),
                                ended.size() == 1 ? "has" : "have");
  } else if (!awaited.empty()) {
    cause.confidence = sure;
    cause.progress =
        cause.blocked_by.empty() ? Progress::Running : Progress::Blocked;
    cause.summary = is_message(call)
                        ? fmt::format("{}{}, which {} in no call of MPI", in,
                                      ranks_text(awaited),
                                      awaited.size() == 1 ? "is" : "are")
                        : fmt::format("{}{}, which {} not come there", in,
                                      ranks_text(awaited),
                                      awaited.size() == 1 ? "has" : "have");
  } else if (is_message(call)) {
    return;
  } else if (!meeting.mismatched.empty()) {
    cause = mismatch_cause(meeting);
    cause.confidence =
        is_of_mpi(call) ? Confidence::Possible : cause.confidence;
    cause.evidence.push_back(of.thread(of.pid)->place());
  } else if (job.elsewhere.empty()) {
    cause.summary = in + "the other ranks, which have all come there";
  }
}

// The first collective of a group makes its communicator, and polls meanwhile.
// True: it makes progress.
bool watch_nccl(const ProcessSnapshot& of,
                const ThreadSnapshot& thread,
                Cause& cause) {
  const bool polls = thread.ran || thread.wait.state == 'R';
  const auto call = polls ? nccl_call(of, thread) : std::nullopt;
  if (!call) {
    return false;
  }
  const CallWatch watch = watch_call(of, thread, call->entry);
  cause.evidence.push_back(call->function + ": " + watch.told);
  if (watch.came_back) {
    cause.progress = Progress::Running;
    cause.summary += ", and goes on";
  } else {
    cause.watched = watch.watched;
  }
  return watch.came_back;
}

Found cause_in(const ProcessSnapshot& of,
               const ThreadSnapshot& thread,
               const std::optional<CollectiveCall>& call) {
  if (!call) {
    return std::nullopt;
  }
  // A rank that runs while it waits may be about to resume.
  const bool message = is_message(*call);
  Cause cause{.id = message ? CauseId::MpiMessage : CauseId::Collective,
              .progress = Progress::Blocked,
              .confidence =
                  is_of_mpi(*call) ? Confidence::Possible : Confidence::Likely,
              .summary = fmt::format(
                  "waits in {} for {}", call_words(*call),
                  message ? "a message to come or to go" : "the other ranks"),
              .evidence = {thread.place()}};
  if (!is_of_mpi(*call)) {
    cause.next.push_back(
        {"hangdbg dist", "how far the ranks of each process group have come"});
  }
  if (watch_nccl(of, thread, cause) || of.system.ranks_apart) {
    return cause;
  }
  const auto jobs = find_jobs(of.system.deadline());
  const Job* const job = jobs ? job_of(*jobs, of.pid) : nullptr;
  if (job != nullptr) {
    follow(of, *job, cause);
    cause.next.insert(cause.next.begin(),
                      {fmt::format("hangdbg diagnose --job {}",
                                   job->launcher ? *job->launcher : of.pid),
                       "all ranks at once, and who is odd"});
  }
  return cause;
}

}  // namespace

Found collective(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  return cause_in(of, thread, awaited_call(of, thread));
}

Found pending_collective(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread) {
  return cause_in(of, thread, pending_call(of, thread));
}

}  // namespace hangdbg::causes
