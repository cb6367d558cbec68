#include "inspector/jobs/grouping.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace hangdbg {
namespace {

// What the ranks of one job have in common.
using JobKey = std::tuple<std::string, std::string, std::uint64_t>;

struct JobMember {
  const PythonOfJob* python;
  const RankIdentity& identity() const { return *python->identity; }
};

using Groups = std::map<JobKey, std::vector<JobMember>>;

JobKey job_key(const PythonOfJob& python, const ProcessTree& all);
void join_siblings(Groups& groups,
                   std::map<int, JobKey>& keys,
                   const ProcessTree& all);
std::uint64_t starter_of(int pid, const ProcessTree& all);
bool is_loopback(std::string_view job);
Job job_of_rank(const std::vector<JobMember>& members,
                const std::set<int>& launchers,
                const ProcessTree& all);
std::optional<int> launcher_of(const Job& job, const ProcessTree& all);
void find_missing(Job& job, const std::vector<JobMember>& members);
RankSet ranks_here(const std::vector<JobMember>& members);
void add_children(std::vector<Job>& jobs,
                  const std::vector<PythonOfJob>& pythons,
                  const ProcessTree& all);
void add_unnumbered(std::vector<Job>& jobs,
                    const std::vector<PythonOfJob>& pythons,
                    const ProcessTree& all);

}  // namespace

std::vector<Job> group_jobs(const std::vector<PythonOfJob>& pythons,
                            const ProcessTree& all) {
  Groups groups;
  std::map<int, JobKey> keys;
  for (const PythonOfJob& python : pythons) {
    // It may have ended since.
    if (python.identity && all.contains(python.pid)) {
      const JobKey key = job_key(python, all);
      groups[key].push_back({&python});
      keys.emplace(python.pid, key);
    }
  }
  join_siblings(groups, keys, all);
  // A task of MPI or Slurm below which there are ranks of another job has
  // launched them.
  std::set<int> launchers;
  for (const auto& [pid, key] : keys) {
    for (const int above : ancestors(pid, all)) {
      if (const auto other = keys.find(above);
          other != keys.end() && other->second != key) {
        launchers.insert(above);
      }
    }
  }
  std::vector<Job> jobs;
  for (const auto& [key, members] : groups) {
    Job job = job_of_rank(members, launchers, all);
    if (!job.ranks.empty()) {
      jobs.push_back(std::move(job));
    }
  }
  add_children(jobs, pythons, all);
  add_unnumbered(jobs, pythons, all);
  return jobs;
}

namespace {

// Two containers may each have a job that meets at their own 127.0.0.1. Where
// the launcher gives no name, it is its process that tells.
JobKey job_key(const PythonOfJob& python, const ProcessTree& all) {
  const RankIdentity& identity = *python.identity;
  std::uint64_t place = is_loopback(identity.job) ? python.network : 0;
  if (identity.job.empty()) {
    place = identity.spawned
                ? static_cast<std::uint64_t>(all.at(python.pid).parent)
                : starter_of(python.pid, all);
  }
  return {identity.kind, identity.job, place};
}

// Of those that one mp.spawn has started some may have found their name, and
// some not yet.
void join_siblings(Groups& groups,
                   std::map<int, JobKey>& keys,
                   const ProcessTree& all) {
  std::map<int, JobKey> named;  // by their parent
  for (const auto& [pid, key] : keys) {
    if (std::get<0>(key) == kTorchKind && !std::get<1>(key).empty()) {
      named.emplace(all.at(pid).parent, key);
    }
  }
  for (auto group = groups.begin(); group != groups.end();) {
    const auto& [kind, job, parent] = group->first;
    const auto other = kind == kTorchKind && job.empty()
                           ? named.find(static_cast<int>(parent))
                           : named.end();
    if (other == named.end()) {
      ++group;
      continue;
    }
    for (const JobMember& member : group->second) {
      keys[member.python->pid] = other->second;
      groups[other->second].push_back(member);
    }
    group = groups.erase(group);
  }
}

// The nearest mpiexec above it; on another node there is none, and the proxy
// that it has started there takes its place.
std::uint64_t starter_of(int pid, const ProcessTree& all) {
  int found = 0;
  bool proxy = false;
  for (const int above : ancestors(pid, all)) {
    const std::string_view name = all.at(above).name;
    if (name.starts_with("mpi")) {
      return static_cast<std::uint64_t>(above);
    }
    if (!proxy) {
      found = above;
      proxy = name.starts_with("hydra_");
    }
  }
  return static_cast<std::uint64_t>(found);
}

bool is_loopback(std::string_view job) {
  return job.starts_with("127.") || job.starts_with("localhost:") ||
         job.starts_with("::1:") || job.starts_with("[::1]:");
}

Job job_of_rank(const std::vector<JobMember>& members,
                const std::set<int>& launchers,
                const ProcessTree& all) {
  std::map<int, const JobMember*> by_pid;
  for (const JobMember& member : members) {
    by_pid[member.python->pid] = &member;
  }
  const auto is_rank = [&](const JobMember& member) {
    const int pid = member.python->pid;
    if (member.identity().may_launch() && launchers.contains(pid)) {
      return false;
    }
    return std::ranges::none_of(ancestors(pid, all), [&](int above) {
      const auto other = by_pid.find(above);
      return other != by_pid.end() &&
             other->second->identity().rank == member.identity().rank;
    });
  };
  std::vector<JobMember> found;
  std::ranges::copy_if(members, std::back_inserter(found), is_rank);
  // The process of the last start, and not one that was left behind, is it.
  std::ranges::sort(found, {}, [&](const JobMember& member) {
    return std::tuple(member.identity().rank, member.python->worker,
                      member.identity().spawned, -member.identity().restarts,
                      is_orphan(member.python->pid, all),
                      all.at(member.python->pid).parent == 1,
                      member.python->pid);
  });
  // Where nothing else is left, they are what there is.
  const bool only_workers = std::ranges::all_of(
      found, [](const JobMember& member) { return member.python->worker; });
  Job job;
  for (const JobMember& member : found) {
    const RankIdentity& identity = member.identity();
    if (!job.world_size || identity.world_size > job.world_size) {
      job.world_size = identity.world_size;
    }
    JobRank rank{.rank = identity.rank,
                 .pid = member.python->pid,
                 .orphan = is_orphan(member.python->pid, all)};
    const bool left = member.python->worker && !only_workers;
    const bool again = !job.ranks.empty() && job.ranks.back().rank == rank.rank;
    (again || left ? job.left_over : job.ranks).push_back(std::move(rank));
  }
  if (job.ranks.empty()) {
    return job;
  }
  job.kind = members.front().identity().kind;
  // Processes without a name yet may be among them.
  job.id = std::ranges::max(
               members, {},
               [](const JobMember& member) { return member.identity().job; })
               .identity()
               .job;
  job.launcher = launcher_of(job, all);
  if (job.id.empty() && job.launcher) {
    job.id = fmt::format("{}", *job.launcher);
  }
  find_missing(job, found);
  return job;
}

std::optional<int> launcher_of(const Job& job, const ProcessTree& all) {
  std::vector<int> pids;
  for (const JobRank& rank : job.ranks) {
    if (!rank.orphan) {
      pids.push_back(rank.pid);
    }
  }
  return common_ancestor(pids, all);
}

// Where it is known which this machine was to have; else none is said to be
// missing but of a job that meets on its own machine.
void find_missing(Job& job, const std::vector<JobMember>& members) {
  RankSet seen;
  for (const JobRank& rank : job.ranks) {
    seen.add(rank.rank);
  }
  const RankSet here = ranks_here(members);
  const bool all_here = here.empty() && is_loopback(job.id);
  for (int rank = 0; rank < job.world_size.value_or(0); ++rank) {
    if (!seen.contains(rank)) {
      (all_here || here.contains(rank) ? job.missing : job.elsewhere).add(rank);
    }
  }
}

// As the launcher says, or in one run from the first on; what MPI has dealt out
// to its nodes in turns is not known.
RankSet ranks_here(const std::vector<JobMember>& members) {
  RankSet here;
  std::set<int> firsts;
  for (const JobMember& member : members) {
    const RankIdentity& identity = member.identity();
    here.add(identity.node_ranks);
    if (identity.local_rank && identity.local_size) {
      const int first = identity.rank - *identity.local_rank;
      firsts.insert(first);
      for (int i = 0; i < *identity.local_size; ++i) {
        here.add(first + i);
      }
    }
  }
  const bool in_turns =
      firsts.size() > 1 && members.front().identity().may_launch();
  return in_turns ? RankSet() : here;
}

// Each Python process below a rank is the nearest one's.
void add_children(std::vector<Job>& jobs,
                  const std::vector<PythonOfJob>& pythons,
                  const ProcessTree& all) {
  std::map<int, JobRank*> ranks;
  for (Job& job : jobs) {
    for (auto* const list : {&job.ranks, &job.left_over}) {
      for (JobRank& rank : *list) {
        ranks[rank.pid] = &rank;
      }
    }
  }
  for (const PythonOfJob& python : pythons) {
    if (ranks.contains(python.pid)) {
      continue;
    }
    for (const int above : ancestors(python.pid, all)) {
      if (const auto rank = ranks.find(above); rank != ranks.end()) {
        rank->second->children.push_back(python.pid);
        break;
      }
    }
  }
}

void add_unnumbered(std::vector<Job>& jobs,
                    const std::vector<PythonOfJob>& pythons,
                    const ProcessTree& all) {
  for (const PythonOfJob& python : pythons) {
    if (!python.spawned || python.identity || !all.contains(python.pid)) {
      continue;
    }
    for (Job& job : jobs) {
      if (job.kind == kTorchKind && !job.missing.empty() &&
          job.launcher == all.at(python.pid).parent) {
        job.unnumbered.push_back(python.pid);
      }
    }
  }
}

}  // namespace
}  // namespace hangdbg
