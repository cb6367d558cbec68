#include "client/views/ps/causes.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/terminal/wrap.h"
#include "client/views/diagnose/verdict.h"
#include "diagnosis/jobs/job_diagnosis.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {
namespace {

constexpr auto kLongest = std::chrono::seconds(3);
constexpr std::size_t kMostProcesses = 3;
constexpr std::size_t kMostJobs = 2;
constexpr int kManyLines = 40;

std::string line_of(const std::string& what,
                    const Cause& cause,
                    const std::string& more,
                    std::vector<SuggestedCommand> last,
                    const Palette& out) {
  std::string text = printable(what);
  if (cause.confidence != Confidence::Certain && !what.contains("probably")) {
    text += fmt::format(" ({})", confidence_name(cause.confidence));
  }
  if (out.has_columns()) {
    text = wrap_words(text, static_cast<std::size_t>(terminal_columns()), 2, 0);
  }
  std::vector<SuggestedCommand> steps;
  if (!cause.next.empty()) {
    steps.push_back({printable(cause.next.front().command),
                     printable(cause.next.front().why)});
  }
  if (const std::string evidence = "hangdbg diagnose " + more;
      steps.empty() || steps.front().command != evidence) {
    steps.push_back({evidence, "the evidence"});
  }
  std::ranges::move(last, std::back_inserter(steps));
  return out.red(text) + "\n" + next_steps(steps, out);
}

std::string line_of(const Job& job,
                    const JobDiagnosis& found,
                    const Palette& out) {
  return line_of(job_text(job) + " " + verdict_line(found), found.cause,
                 job.launcher ? fmt::format("{}", *job.launcher)
                              : "--job " + shell_quote(job.id),
                 {}, out);
}

bool all_at_one_line(const Job& job,
                     const std::vector<SurveyedProcess>& processes) {
  return std::ranges::all_of(job.ranks, [&](const JobRank& rank) {
    const auto its =
        std::ranges::find(processes, rank.pid, &SurveyedProcess::pid);
    return its != processes.end() && its->activity.one_line;
  });
}

}  // namespace

std::string causes_text(const std::vector<SurveyedProcess>& processes,
                        const Jobs& jobs,
                        Deadline deadline,
                        const Palette& out) {
  const Deadline end = deadline.capped(kLongest);
  std::vector<const Job*> hung_jobs;
  std::vector<const SurveyedProcess*> alone;
  std::size_t more = 0;
  for (const SurveyedProcess& process : processes) {
    if (!process.stalled()) {
      continue;
    }
    const auto job = std::ranges::find_if(jobs.jobs, [&](const Job& one) {
      return one.launcher == process.pid || one.find(process.pid) != nullptr;
    });
    if (job == jobs.jobs.end() && !process.is_first()) {
      continue;  // it waits for one that is
    }
    if (job == jobs.jobs.end()) {
      alone.push_back(&process);
    } else if (std::ranges::find(hung_jobs, &*job) == hung_jobs.end()) {
      hung_jobs.push_back(&*job);
    }
  }
  // On a small terminal all is to be on one screen, the table too.
  const bool small = out.has_columns() && terminal_lines() < kManyLines;
  const std::size_t most_jobs = small ? 1 : kMostJobs;
  const std::size_t most_processes = !small              ? kMostProcesses
                                     : hung_jobs.empty() ? 1
                                                         : 0;
  if (hung_jobs.size() > most_jobs) {
    more += hung_jobs.size() - most_jobs;
    hung_jobs.resize(most_jobs);
  }
  if (alone.size() > most_processes) {
    more += alone.size() - most_processes;
    alone.resize(most_processes);
  }
  std::string text;
  for (const Job* const job : hung_jobs) {
    const JobDiagnosis found = diagnose_job(*job, kHungAfterS, end);
    text += line_of(*job, found, out);
  }
  for (const SurveyedProcess* const one : alone) {
    text += line_of(
        fmt::format("process {} {}", one->pid, verdict_line(*one->found)),
        one->found->cause, fmt::format("{}", one->pid),
        {{fmt::format("hangdbg attach {}", one->pid),
          "a prompt in the hung frame"}},
        out);
  }
  // A rank that waits in MPI runs, and may hang all the same.
  std::size_t looked_at = 0;
  for (const Job& job : jobs.jobs) {
    if (job.kind != kTorchKind && looked_at < kMostJobs &&
        std::ranges::find(hung_jobs, &job) == hung_jobs.end() &&
        all_at_one_line(job, processes)) {
      ++looked_at;
      const JobDiagnosis found =
          diagnose_job(job, kHungAfterS, deadline.capped(kLongest));
      text += found.stalled ? line_of(job, found, out) : "";
    }
  }
  if (more > 0) {
    text += fmt::format("{} more: hangdbg diagnose PID\n", more);
  }
  return text;
}

}  // namespace hangdbg
