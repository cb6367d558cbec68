#include "client/completion/live.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/text.h"
#include "client/views/ps/role.h"
#include "diagnosis/survey/survey.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "inspector/jobs/choice.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 1s;

std::vector<Candidate> processes();
std::vector<Candidate> jobs();
std::vector<Candidate> ranks(const std::string& job);
std::vector<Candidate> threads(const std::string& pid);
std::string command_of(int pid);

}  // namespace

std::vector<Candidate> values_here(std::string_view kind,
                                   const TypedBefore& before) {
  if (kind == "PID") {
    return processes();
  }
  if (kind == "JOB") {
    return jobs();
  }
  if (kind == "SET") {
    return ranks(before.job);
  }
  if (kind == "TID") {
    return threads(before.pid);
  }
  return {};
}

namespace {

std::vector<Candidate> processes() {
  auto found = survey(kHungAfterS, Deadline::in(kPatience));
  const auto of_jobs = find_jobs(Deadline::in(kPatience));
  if (!found) {
    return {};
  }
  hung_first(*found);
  std::vector<Candidate> candidates;
  for (const SurveyedProcess& process : *found) {
    if (process.activity.state == "ended") {
      continue;
    }
    const Role role = of_jobs ? role_of(*of_jobs, process.pid) : Role{};
    std::string help = printable(shell_quote(process.command_line));
    if (!process.activity.waits.empty()) {
      help = printable(process.activity.waits) + ": " + help;
    }
    help = process.state() + ", " + help;
    if (role.rank && role.name == "rank") {
      help = fmt::format("rank {}, {}", *role.rank, help);
    }
    candidates.push_back({fmt::format("{}", process.pid), std::move(help)});
  }
  return candidates;
}

std::vector<Candidate> jobs() {
  const auto found = find_jobs(Deadline::in(kPatience));
  std::vector<Candidate> candidates;
  for (const Job& job : found ? found->jobs : std::vector<Job>()) {
    // What a shell puts into a line is run as it is, and others name their
    // jobs.
    if (shell_quote(job.id) == job.id) {
      candidates.push_back({job.id, job_text(job)});
    }
    if (job.launcher) {
      candidates.push_back(
          {fmt::format("{}", *job.launcher), "launcher of " + job_text(job)});
    }
  }
  return candidates;
}

std::vector<Candidate> ranks(const std::string& job) {
  const auto chosen =
      choose_ranks({job.empty() ? "auto" : job, ""}, Deadline::in(kPatience));
  std::vector<Candidate> candidates;
  for (const JobRank& rank : chosen ? chosen->ranks : std::vector<JobRank>()) {
    candidates.push_back(
        {fmt::format("{}", rank.rank),
         fmt::format("{}, {}", rank.pid, command_of(rank.pid))});
  }
  return candidates;
}

std::vector<Candidate> threads(const std::string& pid) {
  std::vector<Candidate> candidates;
  const auto number = parse_number<int>(pid);
  const auto tids = number ? list_tasks(*number) : Result<std::vector<int>>();
  for (const int tid : tids ? *tids : std::vector<int>()) {
    const auto stat = read_task_stat(*number, tid);
    if (stat && !is_agents_name(stat->comm)) {
      candidates.push_back({fmt::format("{}", tid), printable(stat->comm)});
    }
  }
  return candidates;
}

std::string command_of(int pid) {
  return printable(shell_quote(read_command_line(pid)));
}

}  // namespace
}  // namespace hangdbg
