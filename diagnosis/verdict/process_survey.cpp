#include "diagnosis/verdict/process_survey.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "base/in_parallel.h"
#include "base/text.h"
#include "diagnosis/verdict/process_look.h"
#include "inspector/cpython/runtime/python_processes.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr auto kProcessSurveyBetweenLooks = std::chrono::milliseconds(45);

// What was found out of one process.
struct Found {
  SurveyedProcess process;
  std::unique_ptr<ProcessLook> look;
};

using ByPid = std::map<int, Found>;

Result<Found> examine(PythonFinder& finder, int pid);
Result<Found> out_of_time(int pid);
void look_more(ByPid& found, Deadline deadline);
void judge_all(ByPid& found, double hung_after_s);

}  // namespace

Result<std::vector<SurveyedProcess>> survey(double hung_after_s,
                                            Deadline deadline) {
  // Who is left behind still asks it.
  const auto finder = std::make_shared<PythonFinder>();
  ByPid found;
  in_parallel<Found>(
      TRY(list_processes()), deadline,
      [finder](int pid) { return examine(*finder, pid); },
      [&](int pid, std::optional<Result<Found>> result) {
        Result<Found> one = result ? *std::move(result) : out_of_time(pid);
        if (one) {
          found[pid] = *std::move(one);
        }
      });
  look_more(found, deadline);
  judge_all(found, hung_after_s);
  std::vector<SurveyedProcess> processes;
  for (auto& [pid, one] : found) {
    processes.push_back(std::move(one.process));
  }
  return processes;
}

void hung_first(std::vector<SurveyedProcess>& processes) {
  std::ranges::stable_sort(processes, {}, [](const SurveyedProcess& process) {
    const Verdict& verdict = process.verdict;
    return std::tuple(!verdict.hung,
                      verdict.hung ? -verdict.waiting_s.value_or(0) : 0,
                      process.pid);
  });
}

namespace {

// Errors: NotPython, NoSuchProcess.
Result<Found> examine(PythonFinder& finder, int pid) {
  if (!finder.runs_python(pid)) {
    return fail(ErrorId::NotPython, "");
  }
  const auto status = TRY(read_status(pid));
  Found found;
  found.look = TRY(ProcessLook::begin(pid));
  const auto& version = found.look->version();
  found.process = {.pid = pid,
                   .ppid = status.ppid,
                   .uid = status.uids[0],
                   .python = version ? version->text() : "",
                   .command_line = read_command_line(pid),
                   .error = found.look->error()};
  return found;
}

// What can be told without waiting. Errors: NotPython, NoSuchProcess.
Result<Found> out_of_time(int pid) {
  const auto status = TRY(read_status(pid));
  if (!is_python_name(status.name)) {
    return fail(ErrorId::NotPython, "");
  }
  return Found{{.pid = pid,
                .ppid = status.ppid,
                .uid = status.uids[0],
                .verdict = {.state = "disk"},
                .error = Error{ErrorId::TimedOut,
                               fmt::format("/proc/{} does not answer", pid)}},
               nullptr};
}

// At all that want it at once, so that the time is waited for once.
void look_more(ByPid& found, Deadline deadline) {
  std::vector<ProcessLook*> moving;
  for (const auto& [pid, one] : found) {
    if (one.look && one.look->wants_more()) {
      moving.push_back(one.look.get());
    }
  }
  for (std::size_t i = 1; i < kLooks && !moving.empty() && !deadline.expired();
       ++i) {
    std::this_thread::sleep_for(kProcessSurveyBetweenLooks);
    std::ranges::for_each(moving, &ProcessLook::look);
  }
}

void judge_all(ByPid& found, double hung_after_s) {
  std::set<int> parents;
  for (const auto& [pid, one] : found) {
    parents.insert(one.process.ppid);
  }
  for (auto& [pid, one] : found) {
    if (!one.look) {
      continue;
    }
    Evidence evidence = one.look->evidence();
    evidence.has_children = parents.contains(pid);
    evidence.child_of_python = found.contains(one.process.ppid);
    one.process.verdict = judge(evidence, hung_after_s);
    if (one.process.error && evidence.sights.back().frames.empty()) {
      one.process.verdict.waits.clear();
    }
  }
}

}  // namespace
}  // namespace hangdbg
