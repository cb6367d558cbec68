#include "client/views/ps/json.h"

#include <cstdint>
#include <optional>
#include <string>

#include "client/views/ps/role.h"
#include "protocol/reports/ps.h"

namespace hangdbg {
namespace {

reports::PsProcess to_json(const SurveyedProcess& process, const Jobs& jobs);
std::optional<std::string> why_not_more(const SurveyedProcess& process);
reports::PsJob to_json(const Job& job);

}  // namespace

Json processes_json(const std::vector<SurveyedProcess>& processes,
                    const Jobs& jobs) {
  reports::PsProcesses all;
  for (const SurveyedProcess& process : processes) {
    all.processes.push_back(to_json(process, jobs));
  }
  for (const Job& job : jobs.jobs) {
    all.jobs.push_back(to_json(job));
  }
  return encode(all);
}

namespace {

reports::PsJob to_json(const Job& job) {
  reports::PsJob json{.job = job.id,
                      .kind = job.kind,
                      .launcher = job.launcher,
                      .world_size = job.world_size,
                      .missing = job.missing.numbers(),
                      .elsewhere = job.elsewhere.numbers(),
                      .zombies = job.zombies};
  for (const JobRank& rank : job.ranks) {
    json.ranks.push_back(rank.rank);
    if (rank.orphan) {
      json.orphans.push_back(rank.rank);
    }
  }
  for (const JobRank& rank : job.left_over) {
    json.left_over.push_back(rank.pid);
  }
  return json;
}

reports::PsProcess to_json(const SurveyedProcess& process, const Jobs& jobs) {
  const Activity& activity = process.activity;
  const Role role = role_of(jobs, process.pid);
  return {
      .pid = process.pid,
      .ppid = process.ppid,
      .uid = process.uid,
      .rank = role.rank,
      .job = role.job,
      .role = role.name,
      .python =
          process.python.empty() ? std::nullopt : std::optional(process.python),
      .state = process.state(),
      .hung = process.hung(),
      .stalled = process.stalled(),
      .cause =
          process.found
              ? std::optional(std::string(cause_name(process.found->cause.id)))
              : std::nullopt,
      .waits = activity.waits,
      .waiting_s = process.waiting_s(),
      .cmdline = process.command_line,
      .error = why_not_more(process),
  };
}

std::optional<std::string> why_not_more(const SurveyedProcess& process) {
  if (process.error) {
    return process.error->text();
  }
  return process.unjudged() ? std::optional<std::string>("not checked: timeout")
                            : std::nullopt;
}

}  // namespace
}  // namespace hangdbg
