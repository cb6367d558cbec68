#include "diagnosis/survey/survey.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "base/parallel_map.h"
#include "base/spawn_up_to.h"
#include "base/text.h"
#include "diagnosis/jobs/job_diagnosis.h"
#include "diagnosis/survey/process_sampler.h"
#include "inspector/cpython/runtime/python_processes.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr auto kBetweenSamples = std::chrono::milliseconds(45);
constexpr auto kCauses = std::chrono::seconds(5);  // to look for them

// More, where more may be taken.
Deadline::Clock::duration time_for_causes(Deadline deadline) {
  return std::max<Deadline::Clock::duration>(kCauses, deadline.left() / 2);
}

// What was found about one process.
struct Found {
  SurveyedProcess process;
  std::unique_ptr<ProcessSampler> sampler;
};

using ByPid = std::map<int, Found>;

Result<Found> examine(PythonFinder& finder, int pid);
Result<Found> out_of_time(int pid);
void sample_more(ByPid& found, Deadline deadline);
void tell_activity(Found& one);
std::vector<int> order_of_diagnosis(const ByPid& found);
void add_diagnosis(ProcessDiagnosis one, SurveyedProcess& process);
void mark_followers(std::vector<SurveyedProcess>& processes);

}  // namespace

Result<std::vector<SurveyedProcess>> survey(double hung_after_s,
                                            Deadline deadline,
                                            std::vector<int> pids) {
  if (pids.empty()) {
    pids = TRY(list_processes());
  }
  // Abandoned readers still use it.
  const auto finder = std::make_shared<PythonFinder>();
  ByPid found;
  // A process whose memory does not answer leaves time for the others.
  parallel_map<Found>(
      pids, deadline.capped(deadline.left() / 3),
      [finder](int pid) { return examine(*finder, pid); },
      [&](int pid, std::optional<Result<Found>> result) {
        Result<Found> one = result ? *std::move(result) : out_of_time(pid);
        if (one) {
          found[pid] = *std::move(one);
        }
      });
  // Some are sampled for a while: all are diagnosed meanwhile.
  std::vector<ProcessDiagnosis> diagnosed;
  const auto diagnose_them = [&, pids = order_of_diagnosis(found)] {
    diagnosed = diagnose_all(pids, hung_after_s,
                             deadline.capped(time_for_causes(deadline)),
                             Closely::Passively);
  };
  auto beside = spawn_up_to(1, diagnose_them);
  sample_more(found, deadline);
  std::ranges::for_each(beside, &std::thread::join);
  if (beside.empty()) {
    diagnose_them();
  }
  for (ProcessDiagnosis& one : diagnosed) {
    add_diagnosis(std::move(one), found[one.pid].process);
  }
  std::vector<SurveyedProcess> processes;
  for (auto& [pid, one] : found) {
    tell_activity(one);
    processes.push_back(std::move(one.process));
  }
  mark_followers(processes);
  return processes;
}

void hung_first(std::vector<SurveyedProcess>& processes) {
  std::ranges::stable_sort(processes, {}, [](const SurveyedProcess& process) {
    return std::tuple(!process.stalled(), process.follows, !process.hung(),
                      process.state() != progress_name(Progress::Polling),
                      process.stalled() ? -process.waiting_s().value_or(0) : 0,
                      process.pid);
  });
}

std::string SurveyedProcess::state() const {
  return std::string(found ? progress_name(found->state)
                     : activity.state == "ended"
                         ? "ended"
                         : progress_name(Progress::Unknown));
}

bool SurveyedProcess::unjudged() const {
  return !found && !error && activity.state != "ended";
}

std::optional<double> SurveyedProcess::waiting_s() const {
  return found && found->state != Progress::Running ? found->waiting_s()
                                                    : activity.waiting_s;
}

std::size_t unjudged(const std::vector<SurveyedProcess>& processes) {
  return static_cast<std::size_t>(
      std::ranges::count_if(processes, &SurveyedProcess::unjudged));
}

namespace {

// Errors: NotPython, NoSuchProcess.
Result<Found> examine(PythonFinder& finder, int pid) {
  if (!finder.runs_python(pid)) {
    return fail(ErrorId::NotPython, "");
  }
  const auto status = TRY(read_status(pid));
  Found found;
  found.sampler = TRY(ProcessSampler::begin(pid));
  const auto& version = found.sampler->version();
  found.process = {.pid = pid,
                   .ppid = status.ppid,
                   .uid = status.uids[0],
                   .python = version ? version->text() : "",
                   .command_line = read_command_line(pid),
                   .error = found.sampler->error(),
                   .note = found.sampler->note()};
  return found;
}

// What can be read without waiting. Errors: NotPython, NoSuchProcess.
Result<Found> out_of_time(int pid) {
  const auto status = TRY(read_status(pid));
  if (!is_python_name(status.name)) {
    return fail(ErrorId::NotPython, "");
  }
  return Found{{.pid = pid,
                .ppid = status.ppid,
                .uid = status.uids[0],
                .activity = {.state = "disk"},
                .error = Error{ErrorId::TimedOut,
                               fmt::format("/proc/{} does not answer", pid)}},
               nullptr};
}

// Samples all that need it together, to wait only once.
void sample_more(ByPid& found, Deadline deadline) {
  std::vector<ProcessSampler*> moving;
  for (const auto& [pid, one] : found) {
    if (one.sampler && one.sampler->wants_more()) {
      moving.push_back(one.sampler.get());
    }
  }
  for (std::size_t i = 1;
       i < kSamples && !moving.empty() && !deadline.expired(); ++i) {
    std::this_thread::sleep_for(kBetweenSamples);
    std::ranges::for_each(moving, &ProcessSampler::sample);
  }
}

void tell_activity(Found& one) {
  if (!one.sampler) {
    return;
  }
  const Observed& observed = one.sampler->observed();
  one.process.activity = activity_of(observed);
  if (one.process.error && observed.samples.back().frames.empty()) {
    one.process.activity.waits.clear();
  }
}

// Longest sleepers first, as time may not suffice for all.
std::vector<int> order_of_diagnosis(const ByPid& found) {
  std::vector<std::pair<double, int>> order;
  for (const auto& [pid, one] : found) {
    if (!one.sampler) {
      order.emplace_back(0, pid);  // its memory does not answer
      continue;
    }
    if (one.process.error) {
      continue;
    }
    const WaitSample& wait = one.sampler->observed().samples.front().wait;
    if (wait.state != 'Z' &&
        wait.state != 'X') {  // an ended process does not hang
      order.emplace_back(-wait.asleep_s.value_or(0), pid);
    }
  }
  std::ranges::sort(order);
  std::vector<int> pids;
  std::ranges::transform(order, std::back_inserter(pids),
                         &std::pair<double, int>::second);
  return pids;
}

// Causes that the kernel proves, even if the process's memory was not read.
bool is_told_by_kernel(CauseId id) {
  constexpr std::array<CauseId, 5> kTold = {CauseId::Stopped, CauseId::Traced,
                                            CauseId::Frozen, CauseId::Mount,
                                            CauseId::MemoryLimit};
  return std::ranges::find(kTold, id) != kTold.end();
}

// A hang is not claimed if it was found on partial data.
void add_diagnosis(ProcessDiagnosis one, SurveyedProcess& process) {
  if (!one.found) {
    if (!process.error && one.found.error().id != ErrorId::TimedOut) {
      process.error = std::move(one.found).error();
    }
  } else if (!one.found->stalled || !one.found->partial ||
             is_told_by_kernel(one.found->cause.id)) {
    process.found = *std::move(one.found);
  }
}

// The processes at the root of the chain: several for a deadlock cycle.
std::set<int> ends_of(const Diagnosis& found) {
  std::set<int> ends;
  const std::size_t count = std::max<std::size_t>(found.cycle, 1);
  for (std::size_t i = 0; i < count; ++i) {
    ends.insert(found.chain[found.root - i].id.pid);
  }
  return ends;
}

void mark_followers(std::vector<SurveyedProcess>& processes) {
  std::set<int> stalled;
  for (const SurveyedProcess& process : processes) {
    if (process.stalled()) {
      stalled.insert(process.pid);
    }
  }
  for (SurveyedProcess& process : processes) {
    if (!process.stalled()) {
      continue;
    }
    // By number: the first one of a cycle represents it.
    const std::set<int> ends = ends_of(*process.found);
    const auto first = std::ranges::find_if(
        ends, [&](int pid) { return stalled.contains(pid); });
    process.follows = first != ends.end() && *first != process.pid;
  }
}

}  // namespace
}  // namespace hangdbg
