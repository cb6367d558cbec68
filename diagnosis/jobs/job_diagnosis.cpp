#include "diagnosis/jobs/job_diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "base/parallel_map.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/jobs/job_cause.h"
#include "diagnosis/jobs/stuck_flows.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/awaited_call.h"
#include "diagnosis/waits/library_waits.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/jobs/mpi_programs.h"
#include "tracee/net/connections.h"

namespace hangdbg {
namespace {

struct Seen {
  Result<Diagnosis> found;
  std::optional<CollectiveCall> call = {};
  ProcessGroups groups = {};
  std::optional<MpiWait> mpi = {};
};

// Enough time for any healthy message but those of tens of gigabytes.
constexpr std::chrono::milliseconds kWatchMpi{2000};

Seen read_rank(int pid, double hung_after_s, Deadline deadline);
void find_call(const ProcessSnapshot& of,
               const ThreadSnapshot& thread,
               const std::shared_ptr<SystemSnapshot>& system,
               Seen& seen);
bool only_one_running(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Seen read_launcher(int pid, double hung_after_s, Deadline deadline);
void read_flows(JobDiagnosis& job, Deadline deadline);
void watch(JobDiagnosis& job, double hung_after_s, Deadline deadline);
bool waits_for_a_rank(const JobDiagnosis& job, const RankDiagnosis& rank);
bool is_whole(const JobDiagnosis& job, Deadline deadline);
void tell_why_ended(JobDiagnosis& job, Deadline deadline);
void add_skipped(JobDiagnosis& job);

}  // namespace

JobDiagnosis diagnose_job(const Job& job,
                          double hung_after_s,
                          Deadline deadline) {
  JobDiagnosis all{.job = job};
  std::vector<int> pids;
  std::ranges::transform(job.ranks, std::back_inserter(pids), &JobRank::pid);
  if (job.launcher && job.find(*job.launcher) == nullptr) {
    pids.push_back(*job.launcher);
  }
  // Each leaves some time to combine the results.
  const Deadline theirs = deadline.capped(deadline.left() * 9 / 10);
  parallel_map<Seen>(
      pids, theirs,
      [launcher = job.launcher, hung_after_s, theirs](int pid) -> Result<Seen> {
        return pid == launcher ? read_launcher(pid, hung_after_s, theirs)
                               : read_rank(pid, hung_after_s, theirs);
      },
      [&](int pid, std::optional<Result<Seen>> seen) {
        Seen one = seen ? **std::move(seen)
                        : Seen{.found = std::unexpected(not_read_in_time(pid))};
        const auto rank = std::ranges::find(job.ranks, pid, &JobRank::pid);
        if (rank != job.ranks.end()) {
          all.ranks.push_back({.rank = rank->rank,
                               .pid = pid,
                               .found = std::move(one.found),
                               .call = std::move(one.call),
                               .groups = std::move(one.groups),
                               .mpi = std::move(one.mpi)});
        } else if (one.found) {
          all.launcher = std::move(one.found->chain.front());
        } else {
          all.skipped.push_back("the launcher: " + one.found.error().text());
        }
      });
  read_flows(all, deadline);
  watch(all, hung_after_s, deadline);
  add_skipped(all);
  find_job_cause(all, hung_after_s);
  tell_why_ended(all, deadline);
  return all;
}

std::vector<ProcessDiagnosis> diagnose_all(const std::vector<int>& pids,
                                           double hung_after_s,
                                           Deadline deadline,
                                           Closely how) {
  std::vector<ProcessDiagnosis> all;
  const Deadline theirs = deadline.capped(deadline.left() * 9 / 10);
  parallel_map<Diagnosis>(
      pids, theirs,
      [hung_after_s, theirs, how](int pid) {
        const auto system = SystemSnapshot::make(theirs);
        system->may_stop = system->may_watch = how == Closely::AsNeeded;
        return diagnose(*system, pid, hung_after_s);
      },
      [&](int pid, std::optional<Result<Diagnosis>> found) {
        all.push_back({pid, found ? *std::move(found)
                                  : std::unexpected(not_read_in_time(pid))});
      });
  return all;
}

std::vector<AlikeRanks> JobDiagnosis::alike(const RankSet& among) const {
  std::vector<AlikeRanks> alike;
  const auto key = [this](const RankSet& ranks, const Diagnosis& found) {
    const WaitEdge& first = found.chain.front();
    return std::tuple(odd.contains(ranks.ranges().front().first),
                      found.cause.id, found.root, first.place);
  };
  for (const RankDiagnosis& rank : ranks) {
    if (!rank.found || !among.contains(rank.rank)) {
      continue;
    }
    RankSet own;
    own.add(rank.rank);
    const auto same = std::ranges::find_if(alike, [&](const AlikeRanks& one) {
      return key(one.ranks, *one.first) == key(own, *rank.found);
    });
    if (same != alike.end()) {
      same->ranks.add(rank.rank);
    } else {
      alike.push_back({std::move(own), &*rank.found});
    }
  }
  std::ranges::stable_sort(alike, {}, [this](const AlikeRanks& one) {
    return std::pair(!odd.contains(one.ranks.ranges().front().first),
                     one.ranks.size());
  });
  return alike;
}

namespace {

Seen read_rank(int pid, double hung_after_s, Deadline deadline) {
  const auto system = SystemSnapshot::make(deadline);
  system->ranks_apart = true;
  Seen seen{.found = diagnose(*system, pid, hung_after_s)};
  const ProcessSnapshot* const of = system->snapshot(pid);
  if (!seen.found || of == nullptr || !of->is_python()) {
    return seen;
  }
  seen.groups = of->process_groups();
  const WaitEdge& root = seen.found->chain[seen.found->root];
  const ThreadSnapshot* const thread =
      root.id.pid == pid ? of->thread(root.id.tid) : nullptr;
  if (thread != nullptr && (seen.found->cause.id == CauseId::Collective ||
                            seen.found->cause.id == CauseId::MpiMessage)) {
    find_call(*of, *thread, system, seen);
  }
  return seen;
}

// The call is read once more.
void find_call(const ProcessSnapshot& of,
               const ThreadSnapshot& thread,
               const std::shared_ptr<SystemSnapshot>& system,
               Seen& seen) {
  seen.call = torch_call(of, thread);
  if (seen.call) {
    return;
  }
  if (auto mpi = mpi_call(of, thread)) {
    seen.call = CollectiveCall{.function = mpi->function};
    if (mpi->returns_to && only_one_running(of, thread)) {
      seen.mpi = {system, thread.id, *std::move(mpi)};
    }
    return;
  }
  seen.call = pending_call(of, thread);
  if (!seen.call) {
    WaitEdge& root = seen.found->chain[seen.found->root];
    root.cause = {.id = CauseId::Runs,
                  .progress = Progress::Running,
                  .summary = "runs: it has come back from what it waited in",
                  .evidence = {root.place}};
    seen.found->cause = root.cause;
    seen.found->state = Progress::Running;
    seen.found->stalled = false;
  }
}

// Another thread may be about to send the awaited message.
bool only_one_running(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  return std::ranges::all_of(of.python_threads(),
                             [&](const ThreadSnapshot* one) {
                               return one == &thread || is_worker_loop(*one);
                             });
}

// It waits for its ranks, which are inspected anyway.
Seen read_launcher(int pid, double hung_after_s, Deadline deadline) {
  const auto system = SystemSnapshot::make(deadline);
  system->ranks_apart = true;
  system->hung_after_s = hung_after_s;
  auto link = wait_edge_of(*system, {pid, pid});
  if (!link) {
    return {
        .found = std::unexpected(Error{
            .id = ErrorId::NotPermitted,
            .message = system->skipped().empty() ? "it is gone"
                                                 : system->skipped().front()})};
  }
  Diagnosis found{.pid = pid};
  found.chain.push_back(*std::move(link));
  return {.found = std::move(found)};
}

void read_flows(JobDiagnosis& job, Deadline deadline) {
  std::vector<int> pids;
  for (const RankDiagnosis& rank : job.ranks) {
    if (rank.found && !rank.call) {
      return;  // they wait for the rank that is not in a call
    }
    pids.push_back(rank.pid);
  }
  auto sockets = read_connections(pids, deadline);
  for (RankDiagnosis& rank : job.ranks) {
    const auto its = sockets.find(rank.pid);
    if (its != sockets.end() && its->second) {
      rank.connections = *std::move(its->second);
    }
  }
  find_stuck_flows(job);
}

// Where no rank is to blame: watches whether they make progress.
void watch(JobDiagnosis& job, double hung_after_s, Deadline deadline) {
  std::vector<MpiWait> waits;
  for (const RankDiagnosis& rank : job.ranks) {
    const bool in_mpi = rank.call && is_of_mpi(*rank.call);
    if (in_mpi ? !rank.mpi : !waits_for_a_rank(job, rank)) {
      return;
    }
    if (in_mpi) {
      waits.push_back(*rank.mpi);
    }
  }
  if (waits.empty() || !job.stuck_flows.empty() || !is_whole(job, deadline)) {
    return;
  }
  const auto time =
      std::min(kWatchMpi, std::chrono::milliseconds(
                              static_cast<std::int64_t>(hung_after_s * 1000)));
  job.mpi_watch = watch_mpi(waits, time, deadline);
}

bool waits_for_a_rank(const JobDiagnosis& job, const RankDiagnosis& rank) {
  if (rank.call || !rank.found) {
    return rank.call.has_value();
  }
  const int root = rank.found->chain[rank.found->root].id.pid;
  return root != rank.pid &&
         std::ranges::find(job.ranks, root, &RankDiagnosis::pid) !=
             job.ranks.end();
}

// No other program can send them anything.
bool is_whole(const JobDiagnosis& job, Deadline deadline) {
  constexpr std::size_t kAlone = 1;  // it may have started others
  if (!job.job.launcher || job.job.world_size != job.job.ranks.size() ||
      job.job.ranks.size() <= kAlone) {
    return false;
  }
  const auto programs = mpi_programs_below(*job.job.launcher, deadline);
  return programs && std::ranges::all_of(*programs, [&](int pid) {
           return job.job.find(pid) != nullptr;
         });
}

// From the kernel's log, or from a surviving rank: they may share a cgroup.
void tell_why_ended(JobDiagnosis& job, Deadline deadline) {
  const auto left = std::ranges::find_if(
      job.ranks,
      [](const RankDiagnosis& one) { return one.found.has_value(); });
  if (job.cause.id != CauseId::RankEnded || left == job.ranks.end()) {
    return;
  }
  const auto system = SystemSnapshot::make(deadline);
  causes::explain_ended_rank(*system, job.job.zombies, left->pid, job.cause);
}

// A note that several ranks share is listed once.
void add_skipped(JobDiagnosis& job) {
  for (const RankDiagnosis& rank : job.ranks) {
    if (!rank.found) {
      job.skipped.push_back(
          fmt::format("rank {}: {}", rank.rank, rank.found.error().text()));
      continue;
    }
    for (const std::string& skipped : rank.found->skipped) {
      if (std::ranges::find(job.skipped, skipped) == job.skipped.end()) {
        job.skipped.push_back(skipped);
      }
    }
  }
}

}  // namespace
}  // namespace hangdbg
