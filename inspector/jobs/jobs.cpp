#include "inspector/jobs/jobs.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/in_parallel.h"
#include "inspector/environment.h"
#include "inspector/inspected_process.h"
#include "inspector/process_dump.h"
#include "inspector/python_processes.h"
#include "inspector/subject.h"
#include "tracee/proc_list.h"
#include "tracee/proc_status.h"

namespace hangdbg {
namespace {

using Processes = std::map<int, AnyProcess>;

// What the ranks of one job have in common.
using Key = std::tuple<std::string, std::string, std::uint64_t>;

struct Member {
  const PythonOfJob* python;
  const RankIdentity& identity() const { return *python->identity; }
};

Result<PythonOfJob> examine(PythonFinder& finder, int pid);
void add_with_ancestors(Processes& processes, int pid);
void find_zombies(std::vector<Job>& jobs, const std::vector<int>& pids);
bool is_worker(int pid);
std::uint64_t network_of(int pid);
Key key_of(const PythonOfJob& python, const Processes& all);
bool is_loopback(std::string_view job);
std::vector<int> ancestors(int pid, const Processes& all);
Job job_of(const std::vector<Member>& members,
           const std::set<int>& launchers,
           const Processes& all);
bool is_orphan(int pid, const Processes& all);
bool takes_orphans(int pid, const Processes& all);
std::optional<int> common_ancestor(const std::vector<JobRank>& ranks,
                                   const Processes& all);
void find_missing(Job& job, const std::vector<Member>& members);
void add_children(std::vector<Job>& jobs,
                  const std::vector<PythonOfJob>& pythons,
                  const Processes& all);

}  // namespace

Result<Jobs> find_jobs(Deadline deadline) {
  const auto pids = TRY(list_processes());
  const auto finder = std::make_shared<PythonFinder>();
  std::vector<PythonOfJob> pythons;
  in_parallel<PythonOfJob>(
      pids, deadline, [finder](int pid) { return examine(*finder, pid); },
      [&](int, std::optional<Result<PythonOfJob>> result) {
        if (result && *result) {
          pythons.push_back(**std::move(result));
        }
      });
  Processes above;
  for (const PythonOfJob& python : pythons) {
    add_with_ancestors(above, python.pid);
  }
  Jobs found{group_jobs(pythons, above)};
  if (std::ranges::any_of(
          found.jobs, [](const Job& job) { return !job.missing.empty(); })) {
    find_zombies(found.jobs, pids);
  }
  return found;
}

const JobRank* Job::find(int pid) const {
  for (const auto* const list : {&ranks, &left_over}) {
    for (const JobRank& rank : *list) {
      if (rank.pid == pid ||
          std::ranges::find(rank.children, pid) != rank.children.end()) {
        return &rank;
      }
    }
  }
  return nullptr;
}

std::optional<Jobs::Place> Jobs::find(int pid) const {
  for (const Job& job : jobs) {
    if (const JobRank* rank = job.find(pid)) {
      return Place{&job, rank,
                   std::ranges::any_of(job.left_over, [&](const JobRank& one) {
                     return &one == rank;
                   })};
    }
  }
  return std::nullopt;
}

std::optional<RankIdentity> own_rank(int pid) {
  const auto environment = Environment::read(pid);
  return environment ? rank_identity(*environment) : std::nullopt;
}

// Below itself it is a child; below the task of a launcher that has the same
// number it is not, if the number is its own.
std::optional<RankOfProcess> rank_of_process(int pid) {
  const auto identity = own_rank(pid);
  if (!identity) {
    return std::nullopt;
  }
  RankOfProcess found{identity->rank, identity->world_size, identity->job};
  PythonFinder finder;
  auto status = read_status(pid);
  while (!found.child && status && status->ppid > 0) {
    const int above = status->ppid;
    const auto other =
        finder.runs_python(above) ? own_rank(above) : std::nullopt;
    found.child = other && other->kind == identity->kind &&
                  other->job == identity->job && other->rank == identity->rank;
    status = read_status(above);
  }
  return found;
}

std::vector<Job> group_jobs(const std::vector<PythonOfJob>& pythons,
                            const Processes& all) {
  std::map<Key, std::vector<Member>> groups;
  std::map<int, Key> keys;
  for (const PythonOfJob& python : pythons) {
    // It may have ended since.
    if (python.identity && all.contains(python.pid)) {
      const Key key = key_of(python, all);
      groups[key].push_back({&python});
      keys.emplace(python.pid, key);
    }
  }
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
    Job job = job_of(members, launchers, all);
    if (!job.ranks.empty()) {
      jobs.push_back(std::move(job));
    }
  }
  add_children(jobs, pythons, all);
  return jobs;
}

namespace {

Result<PythonOfJob> examine(PythonFinder& finder, int pid) {
  if (!finder.runs_python(pid)) {
    return fail(ErrorId::NotPython, "");
  }
  PythonOfJob python{.pid = pid};
  if (const auto environment = Environment::read(pid)) {
    python.identity = rank_identity(*environment);
    python.network = python.identity ? network_of(pid) : 0;
  }
  if (python.identity) {
    const auto status = TRY(read_status(pid));
    python.worker = !finder.runs_python(status.ppid) && is_worker(pid);
  }
  return python;
}

void add_with_ancestors(Processes& processes, int pid) {
  while (pid > 0 && !processes.contains(pid)) {
    const auto status = read_status(pid);
    if (!status) {
      return;
    }
    processes[pid] = {status->ppid, status->name};
    pid = status->ppid;
  }
}

// Of a job that lacks a rank: what its launcher has not taken notice of.
void find_zombies(std::vector<Job>& jobs, const std::vector<int>& pids) {
  for (const int pid : pids) {
    const auto status = read_status(pid);
    if (!status || status->state != 'Z') {
      continue;
    }
    for (Job& job : jobs) {
      if (!job.missing.empty() && status->ppid == job.launcher) {
        job.zombies.push_back(pid);
      }
    }
  }
}

// Whether multiprocessing runs it, and not torch's way to start ranks by that.
// Its number is its parent's, which has ended.
bool is_worker(int pid) {
  const auto process = open_process(pid);
  if (!process) {
    return false;
  }
  const auto main =
      dump_thread(LiveSubject(*process), pid, {.may_stop = false});
  if (!main) {
    return false;
  }
  const auto has = [&](std::string_view function, std::string_view file) {
    return std::ranges::any_of(
        main->stack.frames, [&](const PythonFrame& frame) {
          return frame.function == function && frame.file.ends_with(file);
        });
  };
  return has("_bootstrap", "multiprocessing/process.py") &&
         !has("_wrap", "torch/multiprocessing/spawn.py");
}

std::uint64_t network_of(int pid) {
  struct stat file {};
  return ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &file) == 0
             ? file.st_ino
             : 0;
}

// Two containers may each have a job that meets at their own 127.0.0.1. Where
// the launcher gives no name, it is its process that tells.
Key key_of(const PythonOfJob& python, const Processes& all) {
  const RankIdentity& identity = *python.identity;
  std::uint64_t place = is_loopback(identity.job) ? python.network : 0;
  if (identity.job.empty()) {
    for (const int above : ancestors(python.pid, all)) {
      place = static_cast<std::uint64_t>(above);
      if (all.at(above).name.starts_with("mpi")) {
        break;
      }
    }
  }
  return {identity.kind, identity.job, place};
}

bool is_loopback(std::string_view job) {
  return job.starts_with("127.") || job.starts_with("localhost:") ||
         job.starts_with("::1:") || job.starts_with("[::1]:");
}

// The nearest one first.
std::vector<int> ancestors(int pid, const Processes& all) {
  std::vector<int> found;
  auto at = all.find(pid);
  while (at != all.end() && found.size() < all.size()) {
    at = all.find(at->second.parent);
    if (at == all.end()) {
      break;
    }
    found.push_back(at->first);
  }
  return found;
}

Job job_of(const std::vector<Member>& members,
           const std::set<int>& launchers,
           const Processes& all) {
  std::map<int, const Member*> by_pid;
  for (const Member& member : members) {
    by_pid[member.python->pid] = &member;
  }
  const auto is_rank = [&](const Member& member) {
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
  std::vector<Member> found;
  std::ranges::copy_if(members, std::back_inserter(found), is_rank);
  // The process of the last start, and not one that was left behind, is it.
  std::ranges::sort(found, {}, [&](const Member& member) {
    return std::tuple(
        member.identity().rank, member.python->worker,
        -member.identity().restarts, is_orphan(member.python->pid, all),
        all.at(member.python->pid).parent == 1, member.python->pid);
  });
  // Where nothing else is left, they are what there is.
  const bool only_workers = std::ranges::all_of(
      found, [](const Member& member) { return member.python->worker; });
  Job job;
  for (const Member& member : found) {
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
  job.id = members.front().identity().job;
  job.launcher = common_ancestor(job.ranks, all);
  if (job.id.empty() && job.launcher) {
    job.id = fmt::format("{}", *job.launcher);
  }
  find_missing(job, found);
  return job;
}

bool is_orphan(int pid, const Processes& all) {
  const auto process = all.find(pid);
  return process != all.end() && takes_orphans(process->second.parent, all);
}

// Who is given the processes that nobody waits for.
bool takes_orphans(int pid, const Processes& all) {
  constexpr std::array<std::string_view, 6> kTakers = {
      "systemd", "init", "tini", "dumb-init", "docker-init", "catatonit"};
  const auto process = all.find(pid);
  return process != all.end() &&
         std::ranges::find(kTakers, process->second.name) != kTakers.end();
}

std::optional<int> common_ancestor(const std::vector<JobRank>& ranks,
                                   const Processes& all) {
  std::optional<std::vector<int>> common;
  for (const JobRank& rank : ranks) {
    if (rank.orphan) {
      continue;
    }
    const auto above = ancestors(rank.pid, all);
    if (!common) {
      common = above;
    }
    std::erase_if(*common, [&](int pid) {
      return std::ranges::find(above, pid) == above.end();
    });
  }
  return common && !common->empty() && !takes_orphans(common->front(), all)
             ? std::optional(common->front())
             : std::nullopt;
}

// Where it is known how many this machine was to have, and which; else none is
// said to be missing but of a job that meets on its own machine.
void find_missing(Job& job, const std::vector<Member>& members) {
  RankSet seen, here;
  for (const JobRank& rank : job.ranks) {
    seen.add(rank.rank);
  }
  for (const Member& member : members) {
    const RankIdentity& identity = member.identity();
    if (identity.local_rank && identity.local_size) {
      const int first = identity.rank - *identity.local_rank;
      for (int i = 0; i < *identity.local_size; ++i) {
        here.add(first + i);
      }
    }
  }
  const bool all_here = here.empty() && is_loopback(job.id);
  for (int rank = 0; rank < job.world_size.value_or(0); ++rank) {
    if (!seen.contains(rank)) {
      (all_here || here.contains(rank) ? job.missing : job.elsewhere).add(rank);
    }
  }
}

// Each Python process below a rank is the nearest one's.
void add_children(std::vector<Job>& jobs,
                  const std::vector<PythonOfJob>& pythons,
                  const Processes& all) {
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

}  // namespace
}  // namespace hangdbg
