#include "inspector/jobs/jobs.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/parallel_map.h"
#include "inspector/cpython/runtime/python_processes.h"
#include "inspector/jobs/grouping.h"
#include "inspector/jobs/mpi_programs.h"
#include "inspector/jobs/process_tree.h"
#include "inspector/jobs/spawned.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"
#include "tracee/program/environment.h"

namespace hangdbg {
namespace {

Result<PythonOfJob> examine_awake(PythonFinder& finder, int pid);
Result<PythonOfJob> examine(PythonFinder& finder, int pid);
void find_zombies(std::vector<Job>& jobs, const std::vector<int>& pids);
void find_other_programs(Job& job, Deadline deadline);
std::uint64_t network_of(int pid);

}  // namespace

// A process in D state may block its reader for all the time that there is: it
// comes last, and leaves most of that to the caller.
Result<Jobs> find_jobs(Deadline deadline) {
  const auto pids = TRY(list_processes());
  const auto finder = std::make_shared<PythonFinder>();
  std::vector<PythonOfJob> pythons;
  std::vector<int> asleep;
  const auto take = [&](int pid, std::optional<Result<PythonOfJob>> result) {
    if (result && *result) {
      pythons.push_back(**std::move(result));
    } else if (result && result->error().id == ErrorId::DiskSleep) {
      asleep.push_back(pid);
    }
  };
  parallel_map<PythonOfJob>(
      pids, deadline, [finder](int pid) { return examine_awake(*finder, pid); },
      take);
  parallel_map<PythonOfJob>(
      std::vector<int>(asleep), deadline.capped(deadline.left() / 8),
      [finder](int pid) { return examine(*finder, pid); }, take);
  std::ranges::sort(pythons, {}, &PythonOfJob::pid);
  ProcessTree above;
  for (const PythonOfJob& python : pythons) {
    add_with_ancestors(above, python.pid);
  }
  Jobs found{group_jobs(pythons, above)};
  if (std::ranges::any_of(
          found.jobs, [](const Job& job) { return !job.missing.empty(); })) {
    find_zombies(found.jobs, pids);
    for (Job& job : found.jobs) {
      find_other_programs(job, deadline);
    }
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
  if (!environment) {
    return std::nullopt;
  }
  auto identity = rank_identity(*environment);
  if (!identity && may_be_spawned(pid, *environment)) {
    const auto status = read_status(pid);
    identity =
        status ? spawned_rank(pid, status->ppid, *environment) : std::nullopt;
    if (identity && identity->job.empty()) {
      identity->job = fmt::format("{}", status->ppid);
    }
  }
  return identity;
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

namespace {

Result<PythonOfJob> examine_awake(PythonFinder& finder, int pid) {
  if (finder.runs_python(pid) && TRY(read_status(pid)).state == 'D') {
    return fail(ErrorId::DiskSleep, "");
  }
  return examine(finder, pid);
}

Result<PythonOfJob> examine(PythonFinder& finder, int pid) {
  if (!finder.runs_python(pid)) {
    return fail(ErrorId::NotPython, "");
  }
  PythonOfJob python{.pid = pid};
  const auto environment = Environment::read(pid);
  if (!environment) {
    return python;
  }
  python.identity = rank_identity(*environment);
  const bool numbered = python.identity.has_value();
  if (numbered || may_be_spawned(pid, *environment)) {
    const int parent = TRY(read_status(pid)).ppid;
    if (!numbered) {
      python.identity = spawned_rank(pid, parent, *environment);
    }
    python.worker = numbered && !finder.runs_python(parent) && is_worker(pid);
    python.spawned = is_spawned(pid);
    python.network = network_of(pid);
  }
  return python;
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

// Ranks of one job may be Python and compiled programs.
void find_other_programs(Job& job, Deadline deadline) {
  if (job.missing.empty() || !job.launcher || job.kind == kTorchKind) {
    return;
  }
  const auto pids = mpi_programs_below(*job.launcher, deadline);
  RankSet alive;
  for (const int pid : pids ? *pids : std::vector<int>()) {
    const auto identity = job.find(pid) ? std::nullopt : own_rank(pid);
    if (identity && identity->kind == job.kind) {
      alive.add(identity->rank);
    }
  }
  RankSet missing;
  for (const int rank : job.missing.numbers()) {
    (alive.contains(rank) ? job.elsewhere : missing).add(rank);
  }
  job.missing = missing;
}

std::uint64_t network_of(int pid) {
  struct stat file {};
  return ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &file) == 0
             ? file.st_ino
             : 0;
}

}  // namespace
}  // namespace hangdbg
