#include "inspector/jobs/choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "inspector/jobs/process_tree.h"

namespace hangdbg {
namespace {

bool is_meant(const Job& job, const std::string& word);
std::string job_names(const std::vector<Job>& jobs);
std::string list(const std::vector<int>& pids);

}  // namespace

Result<ChosenRanks> choose_ranks(const JobOptions& options, Deadline deadline) {
  return choose_ranks(options, TRY(find_jobs(deadline)));
}

Result<ChosenRanks> choose_ranks(const JobOptions& options, Jobs found) {
  const RankChoice choice = options.ranks.empty()
                                ? RankChoice()
                                : TRY(RankChoice::parse(options.ranks));
  std::vector<Job>& jobs = found.jobs;
  if (!options.job.empty() && options.job != "auto") {
    std::erase_if(jobs,
                  [&](const Job& job) { return !is_meant(job, options.job); });
  }
  if (jobs.empty()) {
    return fail(
        ErrorId::Usage,
        options.job.empty() || options.job == "auto"
            ? "no ranks of a job are to be seen here"
            : fmt::format("no job here is called {}", printable(options.job)),
        "hangdbg ps");
  }
  if (jobs.size() > 1) {
    return fail(
        ErrorId::Usage,
        fmt::format("{} jobs are here: {}", jobs.size(), job_names(jobs)),
        fmt::format("--job {}",
                    shell_quote(jobs.front().launcher
                                    ? fmt::format("{}", *jobs.front().launcher)
                                    : jobs.front().id)));
  }
  ChosenRanks chosen{.job = std::move(jobs.front())};
  RankSet here;
  for (const JobRank& rank : chosen.job.ranks) {
    here.add(rank.rank);
    if (choice.includes(rank.rank)) {
      chosen.ranks.push_back(rank);
    }
  }
  if (const RankSet* named = choice.named()) {
    for (const int rank : named->numbers()) {
      if (!here.contains(rank)) {
        chosen.absent.add(rank);
      }
    }
  }
  if (options.some_elsewhere) {
    chosen.absent = {};
  }
  if (chosen.ranks.empty() && options.some_elsewhere) {
    return fail(ErrorId::NoSuchRank, "none of these ranks is here");
  }
  if (chosen.ranks.empty()) {
    return fail(ErrorId::Usage,
                fmt::format("rank {} of {} is not here; these are: {}",
                            printable(options.ranks), job_text(chosen.job),
                            here.text()),
                fmt::format("--ranks {}", here.text()));
  }
  return chosen;
}

std::optional<ChosenRanks> only_job(Deadline deadline) {
  auto chosen = choose_ranks({}, deadline);
  return chosen ? std::optional(*std::move(chosen)) : std::nullopt;
}

std::string job_text(const Job& job) {
  return fmt::format(
      "job {} ({}, {} {})", printable(job.id), job.kind,
      job.world_size.value_or(static_cast<int>(job.ranks.size())),
      job.world_size == 1 ? "rank" : "ranks");
}

std::vector<std::string> findings(const Job& job) {
  std::vector<std::string> found;
  if (!job.missing.empty()) {
    found.push_back(fmt::format(
        "rank {} is missing: {} were to be here, {} are{}", job.missing.text(),
        job.ranks.size() + job.missing.size(), job.ranks.size(),
        job.zombies.empty()
            ? ""
            : fmt::format("; ended, and not waited for by {}: {}",
                          job.launcher.value_or(0), list(job.zombies))));
  }
  if (!job.unnumbered.empty()) {
    found.push_back(fmt::format("there, and without a number yet: {}",
                                list(job.unnumbered)));
  }
  RankSet orphans;
  for (const JobRank& rank : job.ranks) {
    if (rank.orphan) {
      orphans.add(rank.rank);
    }
  }
  if (!orphans.empty()) {
    found.push_back(fmt::format("rank {} is an orphan: its launcher has ended",
                                orphans.text()));
  }
  if (!job.left_over.empty()) {
    std::vector<int> pids;
    std::ranges::transform(job.left_over, std::back_inserter(pids),
                           &JobRank::pid);
    found.push_back(
        fmt::format("left over, and still running: {}", list(pids)));
  }
  return found;
}

namespace {

// By a process, too: a wrapper that has started the launcher counts.
bool is_meant(const Job& job, const std::string& word) {
  if (job.id == word) {
    return true;
  }
  const auto pid = parse_number<int>(word);
  if (!pid || *pid <= 1) {
    return false;
  }
  if (job.launcher == pid || job.find(*pid) != nullptr) {
    return true;
  }
  ProcessTree above;
  return std::ranges::any_of(job.ranks, [&](const JobRank& rank) {
    add_with_ancestors(above, rank.pid);
    const auto all = ancestors(rank.pid, above);
    return std::ranges::find(all, *pid) != all.end();
  });
}

std::string job_names(const std::vector<Job>& jobs) {
  std::string names;
  for (const Job& job : jobs) {
    names += fmt::format(
        "{}{}{}", names.empty() ? "" : ", ", printable(job.id),
        job.launcher ? fmt::format(" (started by {})", *job.launcher) : "");
  }
  return names;
}

std::string list(const std::vector<int>& pids) {
  std::string text;
  for (const int pid : pids) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", pid);
  }
  return text;
}

}  // namespace
}  // namespace hangdbg
