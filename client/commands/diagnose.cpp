#include "client/commands/diagnose.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run_with_deadline.h"
#include "base/text.h"
#include "client/nodes/job_diagnosis.h"
#include "client/nodes/machine_facts.h"
#include "client/options/options.h"
#include "client/options/processes_or_job.h"
#include "client/options/via_option.h"
#include "client/terminal/slow_note.h"
#include "client/terminal/typed.h"
#include "client/views/diagnose/evidence.h"
#include "client/views/diagnose/json.h"
#include "client/views/diagnose/text.h"
#include "client/views/diagnose/verdict.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/jobs/job_diagnosis.h"
#include "diagnosis/survey/survey.h"
#include "injector/checks/preflight.h"
#include "protocol/json.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

struct DiagnoseOptions {
  CommonOptions common;
  ViaOption via;
  PidsOption named;
  JobOptions job;
  double hung_after_s = kHungAfterS;
  bool exit_state = false;
  bool evidence = false;  // for another machine's hangdbg (--via)

  // A thread that polls is watched for up to ten seconds.
  DiagnoseOptions() { common.timeout_s = 25; }
};

int run(const DiagnoseOptions& options);
Result<int> diagnose_them(const DiagnoseOptions& options);
Result<ProcessesOrJob> meant(const DiagnoseOptions& options);
std::optional<ChosenRanks> launched_by(int pid, Deadline deadline);
reports::EvidenceJob job_evidence(const DiagnoseOptions& options,
                                  const Job& job);
int tell_evidence(const DiagnoseOptions& options,
                  const std::vector<int>& pids,
                  const std::optional<ChosenRanks>& ranks);
int diagnose_one(const DiagnoseOptions& options, int pid);
int diagnose_several(const DiagnoseOptions& options,
                     const std::vector<int>& pids);
int diagnose_ranks(const DiagnoseOptions& options, const ChosenRanks& chosen);

}  // namespace

void add_diagnose(cli::Command program) {
  const auto options = std::make_shared<DiagnoseOptions>();
  const cli::Command command = program.add_command(
      "diagnose", "Say why a process or job hangs, with the evidence");
  add_pids_option(command, options->named);
  add_job_options(command, options->job);
  command
      .add_option("--hung-after", options->hung_after_s,
                  "Call a process stalled that is blocked for longer than this "
                  "(default "
                  "10); a polling thread is watched for as long, at most 10 s")
      .type_name("SECONDS")
      .in_range(0.1, 1e9);
  command.add_flag("--exit-state", options->exit_state,
                   "Exit with the state: 0 running or idle, 10 polling, 11 "
                   "unknown, 12 blocked, 13 stuck; of several the worst");
  command.add_flag("--evidence", options->evidence).hidden();
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg diagnose 79655\n"
      "  hangdbg diagnose 79655 --json\n"
      "  hangdbg diagnose --job auto\n"
      "\n"
      "Follows the wait-for graph: locks, threads, child processes, pipes, "
      "files, network peers, ranks of a job. The PID of a launcher stands for "
      "its job.\n"
      "\n"
      "Runs no code in any process. A running thread is stopped for some tens "
      "of microseconds.\n"
      "\n"
      "The first line says what the process waits for, for how long, and who "
      "is "
      "at the end of the chain. \"hangs\" is said of what is proved: nothing "
      "that "
      "exists can end the wait. \"is blocked\": somebody may end it.\n"
      "\n"
      "Without a PID: the only job here, or else the only hung process.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const DiagnoseOptions& options) {
  const auto code = diagnose_them(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> diagnose_them(const DiagnoseOptions& options) {
  TRY(options.common.configure_log());
  if (options.via.given()) {
    return diagnose_nodes({.via = options.via,
                           .common = options.common,
                           .hung_after_s = options.hung_after_s,
                           .exit_state = options.exit_state});
  }
  const auto [pids, ranks] = TRY(meant(options));
  if (options.evidence) {
    return tell_evidence(options, pids, ranks);
  }
  const SlowNote note(Palette(options.common.colour, stderr)
                          .dim("still running: polling threads are watched for "
                               "--hung-after seconds, at most 10"));
  if (ranks) {
    return diagnose_ranks(options, *ranks);
  }
  if (pids.size() > 1) {
    return diagnose_several(options, pids);
  }
  TRY(check_readable(pids[0]));
  return diagnose_one(options, pids[0]);
}

Result<ProcessesOrJob> meant(const DiagnoseOptions& options) {
  const Deadline deadline = options.common.deadline();
  const auto named = TRY(named_pids(options.named));
  auto chosen = TRY(processes_or_job(named, options.job, "diagnose", deadline));
  if (named.size() == 1) {
    if (auto launched = launched_by(named[0], deadline)) {
      return ProcessesOrJob{.ranks = std::move(launched)};
    }
  }
  return chosen;
}

// MPICH's starts another process, which starts the ranks.
bool is_mpiexec_above(int pid, int launcher) {
  const auto status = read_status(pid);
  const auto below = read_status(launcher);
  return status && below && below->ppid == pid &&
         status->name.starts_with("mpi");
}

// The whole job, where that is its launcher.
std::optional<ChosenRanks> launched_by(int pid, Deadline deadline) {
  const auto children = children_by_parent();
  if (!children || !children->contains(pid)) {
    return std::nullopt;
  }
  auto jobs = find_jobs(deadline.capped(deadline.left() / 4));
  for (Job& job : jobs ? jobs->jobs : std::vector<Job>()) {
    if (job.launcher && job.find(pid) == nullptr &&
        (job.launcher == pid || is_mpiexec_above(pid, *job.launcher))) {
      ChosenRanks all{.ranks = job.ranks};
      all.job = std::move(job);
      return all;
    }
  }
  return std::nullopt;
}

reports::EvidenceJob job_evidence(const DiagnoseOptions& options,
                                  const Job& job) {
  constexpr auto kToCompare = std::chrono::seconds(3);
  const Deadline deadline = options.common.deadline();
  auto evidence = evidence_of(diagnose_job(
      job, options.hung_after_s, deadline.capped(deadline.left() * 9 / 10)));
  std::vector<int> pids;
  for (const JobRank& rank : job.ranks) {
    pids.push_back(rank.pid);
  }
  auto facts = read_machine_facts(pids, deadline.capped(kToCompare));
  for (reports::EvidenceRank& rank : evidence.ranks) {
    rank.facts = std::move(facts[static_cast<int>(rank.pid)]);
  }
  evidence.clock_s = clock_now();
  return evidence;
}

// Of a job what its cause is found by, of processes the text.
int tell_evidence(const DiagnoseOptions& options,
                  const std::vector<int>& pids,
                  const std::optional<ChosenRanks>& ranks) {
  reports::NodeDiagnosis told;
  if (ranks) {
    told.job = job_evidence(options, ranks->job);
  } else {
    const auto all =
        diagnose_all(pids, options.hung_after_s, options.common.deadline());
    std::string text =
        diagnoses_text(all, Palette(ColourChoice::Never, stdout));
    for (const ProcessDiagnosis& one : all) {
      if (!one.found) {
        text += one.found.error().text() + "\n";
        told.exit_code = 1;
      }
    }
    told.text = std::move(text);
  }
  print_json(encode(told));
  return 0;
}

int diagnose_one(const DiagnoseOptions& options, int pid) {
  const Deadline deadline = options.common.deadline();
  // In time to tell what was found so far. It outlives a work that is left
  // behind.
  const auto system =
      SystemSnapshot::make(deadline.capped(deadline.left() * 8 / 10));
  return run_with_deadline<Result<Diagnosis>>(
      deadline, [&] { return diagnose(*system, pid, options.hung_after_s); },
      [&](std::optional<Result<Diagnosis>> found) {
        const Palette err(options.common.colour, stderr);
        if (!found) {
          return report({.id = ErrorId::TimedOut,
                         .message = fmt::format(
                             "timeout while inspecting process {}", pid),
                         .hint = typed_with("--timeout", "60")},
                        err);
        }
        if (!*found) {
          return report(found->error(), err);
        }
        if (options.common.json) {
          print_json(diagnosis_json(**found));
        } else {
          print_now(
              stdout,
              diagnosis_text(**found, Palette(options.common.colour, stdout)));
        }
        return options.exit_state ? exit_code_of((*found)->state) : 0;
      });
}

// 1 if some could not be looked at.
int diagnose_several(const DiagnoseOptions& options,
                     const std::vector<int>& pids) {
  const auto all =
      diagnose_all(pids, options.hung_after_s, options.common.deadline());
  if (options.common.json) {
    print_json(diagnoses_json(all));
  } else {
    print_now(stdout,
              diagnoses_text(all, Palette(options.common.colour, stdout)));
  }
  int code = 0;
  auto worst = Progress::Running;
  for (const ProcessDiagnosis& one : all) {
    if (one.found) {
      worst = std::max(worst, one.found->state);
    } else {
      code = 1;
      if (!options.common.json) {
        report(one.found.error(), Palette(options.common.colour, stderr));
      }
    }
  }
  return code == 0 && options.exit_state ? exit_code_of(worst) : code;
}

// All are looked at: what one waits for may not be among the chosen ones.
int diagnose_ranks(const DiagnoseOptions& options, const ChosenRanks& chosen) {
  const JobDiagnosis found =
      diagnose_job(chosen.job, options.hung_after_s, options.common.deadline());
  RankSet shown;
  for (const JobRank& rank : chosen.ranks) {
    shown.add(rank.rank);
  }
  if (options.common.json) {
    print_json(job_diagnosis_json(found, shown));
  } else {
    print_now(stdout,
              job_diagnosis_text(found, shown,
                                 Palette(options.common.colour, stdout)));
  }
  if (!chosen.absent.empty()) {
    report({.id = ErrorId::NoSuchProcess,
            .message = fmt::format("rank {} of {} is not here",
                                   chosen.absent.text(8), job_text(found.job)),
            .hint = "hangdbg ps --job " + shell_quote(found.job.id)},
           Palette(options.common.colour, stderr));
  }
  const bool all = std::ranges::all_of(
      found.ranks,
      [](const RankDiagnosis& one) { return one.found.has_value(); });
  if (!all || !chosen.absent.empty()) {
    return 1;
  }
  return options.exit_state ? exit_code_of(found.state) : 0;
}

}  // namespace
}  // namespace hangdbg
