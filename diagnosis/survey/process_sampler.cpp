#include "diagnosis/survey/process_sampler.h"

#include <fmt/core.h>

#include <algorithm>

#include "inspector/cpython/stacks/thread_names.h"
#include "inspector/snapshot/default_thread.h"
#include "tracee/access/permission.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

constexpr std::size_t kToldFrames = 8;  // of which a place is shown
constexpr std::size_t kMostThreadsSeen = 100;
constexpr int kProcessSamplerTriesAsleep = 3;

// What the call's first argument leads to, if that is a descriptor that can be
// waited for.
std::string file_of(int pid, const WaitSample& wait) {
  constexpr std::array<std::string_view, 8> kOfFiles = {
      "read",   "write",   "recvfrom", "recvmsg",
      "sendto", "sendmsg", "flock",    "fcntl"};
  if (std::ranges::find(kOfFiles, wait.syscall) == kOfFiles.end()) {
    return "";
  }
  const auto fd = static_cast<int>(wait.call.args[0]);
  return read_proc_link(pid, fmt::format("fd/{}", fd)).value_or("");
}

}  // namespace

Result<std::unique_ptr<ProcessSampler>> ProcessSampler::begin(int pid) {
  std::unique_ptr<ProcessSampler> process(new ProcessSampler(pid));
  if (auto opened = process->open(); !opened) {
    if (opened.error().id == ErrorId::NoSuchProcess ||
        opened.error().id == ErrorId::NotPython) {
      return std::unexpected(std::move(opened).error());
    }
    process->error_ = std::move(opened).error();
  }
  process->sample();
  if (process->observed_.samples.empty()) {
    return fail(ErrorId::NoSuchProcess, fmt::format("no process {}", pid));
  }
  return process;
}

void ProcessSampler::sample() {
  if (auto sample = see()) {
    observed_.samples.push_back(*std::move(sample));
    observed_.file = file_of(pid_, observed_.samples.back().wait);
  }
}

Status ProcessSampler::open() {
  const auto status = TRY(read_status(pid_));
  if (status.state == 'Z' || status.state == 'D') {
    return {};  // its memory is gone, or readable only when it wakes
  }
  TRY(check_permission(pid_, status));
  process_ = TRY(open_python(pid_));
  version_ = process_->python.version;
  stacks_.emplace(process_->memory, process_->python);
  const auto tasks = TRY(TaskIds::read(pid_));
  auto threads = TRY(python_threads(process_->memory, process_->python, tasks));
  std::erase_if(threads, [](const PythonThread& thread) {
    return !thread.tid || !thread.frame;
  });
  choose(std::move(threads));
  return {};
}

void ProcessSampler::choose(std::vector<PythonThread> threads) {
  std::ranges::stable_partition(
      threads, [this](const auto& thread) { return thread.tid == pid_; });
  DefaultThread chosen;
  std::vector<const PythonThread*> told;
  for (const PythonThread& thread : threads) {
    const auto stat = read_task_stat(pid_, *thread.tid);
    if (told.size() == kMostThreadsSeen || !chosen.wants_more()) {
      break;
    }
    if (stat && !is_agents_name(stat->comm)) {
      chosen.next(thread.file);
      told.push_back(&thread);
    }
  }
  if (!told.empty()) {
    thread_ = *told[chosen.chosen()];
  }
}

// For a thread that runs now and then, where it sleeps: in a polling loop, the
// line that waits and not the one that checks.
std::optional<Sample> ProcessSampler::see() {
  const int tid = thread_ ? *thread_->tid : pid_;
  Sample sample;
  for (int tried = 0; tried < kProcessSamplerTriesAsleep; ++tried) {
    auto before = sample_wait(pid_, tid);
    if (!before) {
      return {};
    }
    sample.at = std::chrono::steady_clock::now();
    sample.wait = *std::move(before);
    if (!thread_) {
      break;
    }
    auto stack = stacks_->read(thread_->state, kToldFrames);
    sample.frames =
        stack ? std::move(stack->frames) : std::vector<PythonFrame>();
    if (!hangdbg::wants_more(sample.wait)) {
      return sample;  // the usual case, perhaps for thousands
    }
    const auto after = sample_wait(pid_, tid);
    if (!after || sample.wait.state == 'R' || after->runs == sample.wait.runs) {
      break;
    }
  }
  sample.gil_holder = gil_holder();
  return sample;
}

std::optional<int> ProcessSampler::gil_holder() const {
  if (!thread_) {
    return {};
  }
  const auto tasks = TaskIds::read(pid_);
  if (!tasks) {
    return {};
  }
  const auto gil = read_gil(process_->memory, process_->python, *tasks,
                            thread_->interpreter);
  return gil && gil->locked && gil->holder_tid != thread_->tid ? gil->holder_tid
                                                               : std::nullopt;
}

}  // namespace hangdbg
