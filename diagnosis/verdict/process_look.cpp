#include "diagnosis/verdict/process_look.h"

#include <fmt/core.h>

#include <algorithm>

#include "inspector/cpython/locks/waiting_rooms.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "tracee/access/permission.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

constexpr std::size_t kToldFrames = 8;    // of which a place is told
constexpr std::size_t kMostOthers = 100;  // threads beside main
constexpr int kProcessLookTriesAsleep = 3;

// What the call's first argument leads to, where that is a descriptor of
// something that can be waited for.
std::string file_of(int pid, const WaitLook& wait) {
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

Result<std::unique_ptr<ProcessLook>> ProcessLook::begin(int pid) {
  std::unique_ptr<ProcessLook> process(new ProcessLook(pid));
  if (auto opened = process->open(); !opened) {
    if (opened.error().id == ErrorId::NoSuchProcess ||
        opened.error().id == ErrorId::NotPython) {
      return std::unexpected(std::move(opened).error());
    }
    process->error_ = std::move(opened).error();
  }
  process->look();
  if (process->evidence_.sights.empty()) {
    return fail(ErrorId::NoSuchProcess, fmt::format("no process {}", pid));
  }
  return process;
}

void ProcessLook::look() {
  if (auto sight = see()) {
    evidence_.sights.push_back(*std::move(sight));
    evidence_.file = file_of(pid_, evidence_.sights.back().wait);
  }
}

Status ProcessLook::open() {
  const auto status = TRY(read_status(pid_));
  if (status.state == 'Z' || status.state == 'D') {
    return {};  // its memory is gone, or may be had only when it wakes
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
  choose(threads);
  return {};
}

// As choose_thread does (hung_thread.h): main, unless it merely waits for
// others and exactly one of them is in the program's own code.
void ProcessLook::choose(const std::vector<PythonThread>& threads) {
  const auto main = std::ranges::find(threads, pid_, &PythonThread::tid);
  if (main != threads.end()) {
    thread_ = *main;
    if (!is_waiting_room(main->file)) {
      return;
    }
  }
  const PythonThread* own = nullptr;
  std::size_t owns = 0;
  for (const PythonThread& thread : threads) {
    if (thread.tid == pid_ || owns == kMostOthers) {
      continue;
    }
    const auto wait = look_at_wait(pid_, *thread.tid);
    if (!wait || is_agents_name(wait->name)) {
      continue;
    }
    evidence_.others_serve |= thread.file.ends_with("/selectors.py");
    if (!thread.file.empty() && !is_library(thread.file)) {
      own = &thread;
      ++owns;
      const double still = wait->state == 'R' ? 0 : wait->asleep_s.value_or(0);
      evidence_.others_still_s =
          std::min(still, evidence_.others_still_s.value_or(still));
    }
  }
  if (own != nullptr && (owns == 1 || !thread_)) {
    thread_ = *own;
  }
}

// Of a thread that comes and goes, where it sleeps: in a loop that polls for a
// file the line that waits and not, once in a while, the one that looks.
std::optional<Sight> ProcessLook::see() {
  const int tid = thread_ ? *thread_->tid : pid_;
  Sight sight;
  for (int tried = 0; tried < kProcessLookTriesAsleep; ++tried) {
    auto before = look_at_wait(pid_, tid);
    if (!before) {
      return {};
    }
    sight.at = std::chrono::steady_clock::now();
    sight.wait = *std::move(before);
    if (!thread_) {
      break;
    }
    auto stack = stacks_->read(thread_->state, kToldFrames);
    sight.frames =
        stack ? std::move(stack->frames) : std::vector<PythonFrame>();
    if (!hangdbg::wants_more(sight.wait)) {
      return sight;  // as most, and it may be one of thousands
    }
    const auto after = look_at_wait(pid_, tid);
    if (!after || sight.wait.state == 'R' || after->runs == sight.wait.runs) {
      break;
    }
  }
  sight.gil_holder = gil_holder();
  return sight;
}

std::optional<int> ProcessLook::gil_holder() const {
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
