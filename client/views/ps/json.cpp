#include "client/views/ps/json.h"

#include <cstdint>
#include <optional>
#include <string>

#include "client/views/ps/role.h"

namespace hangdbg {
namespace {

struct JsonProcess {
  std::int64_t pid = 0;
  std::int64_t ppid = 0;
  std::int64_t uid = 0;
  std::optional<std::int64_t> rank;  // also of a rank's child
  std::optional<std::string> job;
  std::optional<std::string> role;  // "rank", "child", "launcher", ...
  std::optional<std::string> python;
  std::string state;
  bool hung = false;
  std::optional<std::string> cause;  // as of diagnose; null: not looked into
  std::string waits;
  std::optional<double> waiting_s;
  std::vector<std::string> cmdline;
  std::optional<std::string> error;  // why not more is known

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("ppid", ppid);
    v("uid", uid);
    v.nullable("rank", rank);
    v.nullable("job", job);
    v.nullable("role", role);
    v.nullable("python", python);
    v("state", state);
    v("hung", hung);
    v.nullable("cause", cause);
    v("waits", waits);
    v.nullable("waiting_s", waiting_s);
    v("cmdline", cmdline);
    v.nullable("error", error);
  }
};

struct JsonJob {
  std::string job;
  std::string kind;
  std::optional<std::int64_t> launcher;
  std::optional<std::int64_t> world_size;
  std::vector<int> ranks;
  std::vector<int> missing;
  std::vector<int> elsewhere;  // ranks of other machines
  std::vector<int> orphans;    // ranks
  std::vector<int> left_over;  // PIDs
  std::vector<int> zombies;    // PIDs

  template <class V>
  void fields(V& v) {
    v("job", job);
    v("kind", kind);
    v.nullable("launcher", launcher);
    v.nullable("world_size", world_size);
    v("ranks", ranks);
    v("missing", missing);
    v("elsewhere", elsewhere);
    v("orphans", orphans);
    v("left_over", left_over);
    v("zombies", zombies);
  }
};

struct JsonProcesses {
  std::vector<JsonProcess> processes;
  std::vector<JsonJob> jobs;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
    v("jobs", jobs);
  }
};

JsonProcess to_json(const SurveyedProcess& process, const Jobs& jobs);
JsonJob to_json(const Job& job);

}  // namespace

Json processes_json(const std::vector<SurveyedProcess>& processes,
                    const Jobs& jobs) {
  JsonProcesses all;
  for (const SurveyedProcess& process : processes) {
    all.processes.push_back(to_json(process, jobs));
  }
  for (const Job& job : jobs.jobs) {
    all.jobs.push_back(to_json(job));
  }
  return encode(all);
}

namespace {

JsonJob to_json(const Job& job) {
  JsonJob json{.job = job.id,
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

JsonProcess to_json(const SurveyedProcess& process, const Jobs& jobs) {
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
      .state = activity.state,
      .hung = process.hung(),
      .cause =
          process.found
              ? std::optional(std::string(cause_name(process.found->cause.id)))
              : std::nullopt,
      .waits = activity.waits,
      .waiting_s = activity.waiting_s,
      .cmdline = process.command_line,
      .error =
          process.error ? std::optional(process.error->text()) : std::nullopt,
  };
}

}  // namespace
}  // namespace hangdbg
