#include "client/views/ps/causes.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/text.h"
#include "diagnosis/jobs/job_diagnosis.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {
namespace {

constexpr auto kLongest = std::chrono::seconds(3);
constexpr std::size_t kMostProcesses = 3;
constexpr std::size_t kMostJobs = 2;

std::string line_of(const std::string& whose,
                    const std::string& what,
                    const Cause& cause,
                    const std::string& more,
                    const Palette& out) {
  std::string text =
      out.red(printable(whose + what)) +
      (cause.confidence == Confidence::Certain
           ? ""
           : fmt::format(" ({})", confidence_name(cause.confidence))) +
      "\n";
  if (!cause.next.empty()) {
    text += fmt::format("  try: {}    {}\n",
                        out.bold(printable(cause.next.front().command)),
                        printable(cause.next.front().why));
  }
  return text + fmt::format("  try: {}    the evidence\n",
                            out.bold(fmt::format("hangdbg diagnose {}", more)));
}

std::string line_of(const Job& job,
                    const JobDiagnosis& found,
                    const Palette& out) {
  return line_of(job_text(job) + ": ", found.cause.summary, found.cause,
                 job.launcher ? fmt::format("{}", *job.launcher)
                              : "--job " + shell_quote(job.id),
                 out);
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
    if (!process.hung()) {
      continue;
    }
    const auto job = std::ranges::find_if(jobs.jobs, [&](const Job& one) {
      return one.launcher == process.pid || one.find(process.pid) != nullptr;
    });
    if (job == jobs.jobs.end() && !process.hangs_by_itself()) {
      continue;  // it waits for one that does
    }
    if (job == jobs.jobs.end()) {
      alone.push_back(&process);
    } else if (std::ranges::find(hung_jobs, &*job) == hung_jobs.end()) {
      hung_jobs.push_back(&*job);
    }
  }
  if (hung_jobs.size() > kMostJobs) {
    more += hung_jobs.size() - kMostJobs;
    hung_jobs.resize(kMostJobs);
  }
  if (alone.size() > kMostProcesses) {
    more += alone.size() - kMostProcesses;
    alone.resize(kMostProcesses);
  }
  std::string text;
  for (const Job* const job : hung_jobs) {
    const JobDiagnosis found = diagnose_job(*job, kHungAfterS, end);
    text += line_of(*job, found, out);
  }
  for (const SurveyedProcess* const one : alone) {
    text +=
        line_of(fmt::format("process {} ", one->pid), summary_line(*one->found),
                one->found->cause, fmt::format("{}", one->pid), out);
  }
  // Who waits in MPI runs, and may hang all the same.
  std::size_t looked_at = 0;
  for (const Job& job : jobs.jobs) {
    if (job.kind != kTorchKind && looked_at < kMostJobs &&
        std::ranges::find(hung_jobs, &job) == hung_jobs.end() &&
        all_at_one_line(job, processes)) {
      ++looked_at;
      const JobDiagnosis found =
          diagnose_job(job, kHungAfterS, deadline.capped(kLongest));
      text += found.hung ? line_of(job, found, out) : "";
    }
  }
  if (more > 0) {
    text += fmt::format("{} more hang; hangdbg diagnose PID says why\n", more);
  }
  return text;
}

}  // namespace hangdbg
