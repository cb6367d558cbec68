#include "diagnosis/snapshot/process_snapshot.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "diagnosis/snapshot/entered_interpreters.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "inspector/cpython/stacks/thread_sample.h"
#include "inspector/snapshot/native_dump.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/task_ids.h"
#include "tracee/syscalls/futex_time.h"

namespace hangdbg {
namespace {

constexpr std::size_t kFrames = 300;  // innermost ones of a thread
constexpr std::size_t kSnapshotSamples = 5;
constexpr auto kBetweenLooks = std::chrono::milliseconds(45);
constexpr double kMoment = 1;  // seconds: a longer sleep counts as sleep
constexpr std::size_t kMostMoving = 50;

bool may_move(const ThreadSnapshot& thread) {
  return thread.wait.state == 'R' ||
         (thread.wait.state == 'S' && !(thread.wait.asleep_s >= kMoment));
}

class NoMemory final : public MemoryReader {
 public:
  Status read(Address, std::span<std::byte>) const override {
    return fail(ErrorId::Unreadable, "its memory does not answer", "");
  }
};

double cpu_s(const WaitSample& wait) {
  return wait.runs.nanoseconds > 0
             ? static_cast<double>(wait.runs.nanoseconds) / 1e9
             : static_cast<double>(wait.cpu_ticks) /
                   static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

bool ThreadSnapshot::has_timeout() const {
  return sleeps_in("futex") && wait.call.args[3] != 0;
}

// Sources: poll(2), select(2), epoll_wait(2).
bool ThreadSnapshot::has_time_limit() const {
  if (wait.state == 'R' || wait.call.running) {
    return false;
  }
  const auto& args = wait.call.args;
  switch (wait.call.number) {
    case SYS_futex:
      return has_timeout();
    case SYS_poll:
      return static_cast<std::int32_t>(args[2]) >= 0;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return static_cast<std::int32_t>(args[3]) >= 0;
    case SYS_ppoll:
      return args[2] != 0;
    case SYS_select:
    case SYS_pselect6:
      return args[4] != 0;
    default:
      return false;
  }
}

const PythonFrame* ThreadSnapshot::find(std::string_view function,
                                        std::string_view file,
                                        std::size_t depth) const {
  for (std::size_t i = 0; i < std::min(depth, frames().size()); ++i) {
    if (frames()[i].function == function && frames()[i].file.ends_with(file)) {
      return &frames()[i];
    }
  }
  return nullptr;
}

const PythonFrame* ThreadSnapshot::own_frame() const {
  const auto own = std::ranges::find_if(frames(), [](const PythonFrame& frame) {
    return !is_library(frame.file);
  });
  return own == frames().end() ? nullptr : &*own;
}

std::string ThreadSnapshot::who() const {
  return thread_words(id.pid, id.tid, name);
}

std::string ThreadSnapshot::place() const {
  if (frames().empty()) {
    return wait.syscall.empty() ? "C code" : wait.syscall;
  }
  std::string text = place_of(frames().front());
  const PythonFrame* const own = own_frame();
  if (own != nullptr && own != &frames().front()) {
    text += ", from " + place_of(*own);
  }
  return text;
}

ProcessSnapshot::ProcessSnapshot(int pid, SystemSnapshot& system, Memory memory)
    : pid(pid), system(system), memory_left(memory == Memory::Left) {
  if (memory_left) {
    memory_ = std::make_unique<NoMemory>();
  } else {
    memory_ = std::make_unique<LiveMemory>(pid);
  }
}

Result<std::unique_ptr<ProcessSnapshot>>
ProcessSnapshot::open(int pid, SystemSnapshot& system, Memory memory) {
  std::unique_ptr<ProcessSnapshot> made(
      new ProcessSnapshot(pid, system, memory));
  made->status = TRY(read_status(pid));
  if (memory == Memory::Left) {
    made->look();
    return made;
  }
  made->command_line = read_command_line(pid);
  if (made->status.has_memory && made->status.state != 'D') {
    auto process = open_python(pid);
    if (process) {
      made->process_ = *std::move(process);
    } else if (process.error().id == ErrorId::NotPermitted) {
      return std::unexpected(std::move(process).error());
    } else if (process.error().id != ErrorId::NotPython) {
      made->unread = process.error().text();
    }
  }
  made->look();
  return made;
}

ProcessSnapshot::~ProcessSnapshot() = default;

std::string ProcessSnapshot::title() const {
  const std::string command = printable(shell_quote(command_line));
  constexpr std::size_t kMost = 60;
  return fmt::format("process {} ({})", pid,
                     command.empty() ? printable(status.name)
                     : command.size() > kMost
                         ? to_utf8(command.substr(0, kMost)) + "…"
                         : command);
}

std::vector<int> ProcessSnapshot::handled_signals() const {
  constexpr int kStandardSignals = 31;
  constexpr std::array kOther = {SIGINT, SIGSEGV, SIGBUS, SIGFPE,
                                 SIGILL, SIGABRT, SIGTRAP};
  std::vector<int> handled;
  for (int number = 1; number <= kStandardSignals; ++number) {
    if ((status.signals_caught >> (number - 1) & 1) != 0 &&
        std::ranges::find(kOther, number) == kOther.end()) {
      handled.push_back(number);
    }
  }
  return handled;
}

// Only a signal could wake it otherwise, and its handler resumes the wait.
bool ProcessSnapshot::makes_progress(const ThreadSnapshot& thread) const {
  return thread.ran && !thread.has_timeout() &&
         (thread.places.size() > 1 || !handles_signals());
}

std::optional<double> ProcessSnapshot::wakes_in_s(
    const ThreadSnapshot& thread) const {
  const auto left = thread.has_timeout()
                        ? futex_time_left(pid, memory(), thread.wait.call)
                        : std::nullopt;
  return left ? std::optional(left->seconds) : std::nullopt;
}

const ThreadSnapshot* ProcessSnapshot::thread(int tid) const {
  const auto found = std::ranges::find_if(
      threads, [tid](const ThreadSnapshot& one) { return one.id.tid == tid; });
  return found == threads.end() ? nullptr : &*found;
}

const ThreadSnapshot* ProcessSnapshot::by_ident(std::uint64_t ident) const {
  const auto found =
      std::ranges::find_if(threads, [&](const ThreadSnapshot& one) {
        return one.python && one.python->ident == ident;
      });
  return found == threads.end() ? nullptr : &*found;
}

std::vector<const ThreadSnapshot*> ProcessSnapshot::python_threads() const {
  std::vector<const ThreadSnapshot*> with;
  for (const ThreadSnapshot& one : threads) {
    if (one.python) {
      with.push_back(&one);
    }
  }
  return with;
}

const ThreadSnapshot* ProcessSnapshot::other_running_thread(
    const ThreadSnapshot* but) const {
  constexpr double kPercent = 10;  // polls and heartbeats take less
  const auto with = python_threads();
  const auto found = std::ranges::find_if(with, [&](const ThreadSnapshot* one) {
    return one != but &&
           (one->wait.state == 'R' || one->cpu_percent >= kPercent);
  });
  return found == with.end() ? nullptr : *found;
}

// ---- samples

void ProcessSnapshot::look() {
  if (process_) {
    read_python();
  }
  const auto tids = list_tasks(pid);
  for (const int tid : tids ? *tids : std::vector<int>()) {
    if (thread(tid) != nullptr) {
      continue;
    }
    if (auto wait = sample_wait(pid, tid)) {
      threads.push_back({.id = {pid, tid},
                         .name = tid == pid ? "" : wait->name,
                         .wait = *std::move(wait)});
    }
  }
  std::erase_if(threads, [](const ThreadSnapshot& one) {
    return is_agents_name(one.wait.name);
  });
  std::ranges::sort(threads, {}, [this](const ThreadSnapshot& one) {
    return std::tuple(one.id.tid != pid, one.id.tid);
  });
  if (system.looks_again) {
    look_again();
  }
  if (process_ && process_->python.unknown) {
    name_threads_of_unknown();
  } else if (process_) {
    if (auto objects = ObjectReader::open(process_->memory, process_->python)) {
      objects_.emplace(*std::move(objects));
      const auto names = read_thread_names(*objects_, process_->python);
      for (ThreadSnapshot& one : threads) {
        if (one.python) {
          one.name = name_of(names, pid, named_state(one));
        }
      }
    } else {
      process_.reset();
    }
  }
}

// The rules read locks, values and bytecode only in known versions of Python:
// in another one they have the stacks and the system calls, and no objects.
void ProcessSnapshot::name_threads_of_unknown() {
  unread = trust_note(process_->python);
  const auto objects =
      ObjectReader::open_values(process_->memory, process_->python);
  const auto names =
      objects ? read_thread_names(*objects, process_->python) : ThreadNames();
  for (ThreadSnapshot& one : threads) {
    if (one.python) {
      one.name = name_of(names, pid, named_state(one));
    }
  }
  static const NoMemory kNothing;
  objects_.emplace(ObjectReader::open_with(kNothing, process_->python.layout,
                                           *process_->python.objects, {}));
}

void ProcessSnapshot::read_python() {
  const auto tasks = TaskIds::read(pid);
  if (!tasks) {
    return;
  }
  const auto known = hangdbg::python_threads(process_->memory, process_->python,
                                             *tasks, /*places=*/false);
  if (!known) {
    return;
  }
  const LiveTarget target(*process_);
  PythonStackReader stacks(process_->memory, process_->python);
  for (const PythonThread& one : *known) {
    if (!one.tid) {
      continue;
    }
    auto seen = target.look(stacks, one,
                            {.most = kFrames, .may_stop = system.may_stop});
    if (seen) {
      threads.push_back({.id = {pid, *one.tid},
                         .python = one,
                         .stack = std::move(seen->stack),
                         .wait = std::move(seen->wait)});
    }
  }
  join_interpreters(threads);
  const auto found = read_gil(process_->memory, process_->python, *tasks);
  if (found && found->enabled) {
    gil = *found;
  }
}

// Samples all threads that have just run together, to wait only once.
void ProcessSnapshot::look_again() {
  struct Moving {
    ThreadSnapshot* thread;
    WaitSample first;
  };
  std::vector<Moving> moving;
  for (ThreadSnapshot& one : threads) {
    if (one.python && may_move(one) && moving.size() < kMostMoving) {
      moving.push_back({&one, one.wait});
      one.places.insert(one.frames().empty() ? "" : place_of(one.frames()[0]));
    }
  }
  if (moving.empty()) {
    return;
  }
  const LiveTarget target(*process_);
  PythonStackReader stacks(process_->memory, process_->python);
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i < kSnapshotSamples && !system.deadline().expired();
       ++i) {
    std::this_thread::sleep_for(kBetweenLooks);
    for (const Moving& one : moving) {
      auto seen = target.look(stacks, *one.thread->python,
                              {.most = kFrames, .may_stop = system.may_stop});
      if (!seen) {
        continue;
      }
      ThreadSnapshot& thread = *one.thread;
      ++thread.looks;
      thread.ran |=
          seen->wait.runs != one.first.runs || seen->wait.state == 'R';
      if (!seen->stack.frames.empty()) {
        thread.places.insert(place_of(seen->stack.frames[0]));
      }
      // For a thread that runs now and then, where it sleeps.
      if (seen->wait.state != 'R' || thread.wait.state == 'R') {
        thread.stack = std::move(seen->stack);
        thread.stack.frames.insert(thread.stack.frames.end(),
                                   thread.frames_before.begin(),
                                   thread.frames_before.end());
        thread.wait = std::move(seen->wait);
      }
    }
  }
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - begun;
  for (const Moving& one : moving) {
    const auto last = sample_wait(pid, one.thread->id.tid);
    one.thread->cpu_percent =
        last ? std::min(100.0, 100 * (cpu_s(*last) - cpu_s(one.first)) /
                                   std::max(passed.count(), 1e-9))
             : 0;
  }
}

// If the thread has run since its sample, only the frames of that sample.
const std::vector<PythonFrame>& ProcessSnapshot::all_frames_of(
    const ThreadSnapshot& thread) const {
  constexpr std::size_t kWholeStackMostFrames = 20'000;
  if (thread.stack.complete || !process_ || !thread.python) {
    return thread.frames();
  }
  const auto [known, fresh] = whole_stacks.try_emplace(thread.id.tid);
  if (fresh) {
    PythonStackReader stacks(process_->memory, process_->python);
    auto whole = stacks.read(thread.python->state, kWholeStackMostFrames);
    if (whole && whole->frames.size() >= thread.frames().size() &&
        std::ranges::equal(
            thread.frames(),
            std::span(whole->frames).first(thread.frames().size()), {},
            &PythonFrame::address, &PythonFrame::address)) {
      known->second = *std::move(whole);
    } else {
      known->second = thread.stack;
    }
  }
  return known->second.frames;
}

// ---- the kernel

std::optional<OpenFile> ProcessSnapshot::file(int fd) const {
  auto read = read_open_file(pid, fd);
  return read ? std::optional(*std::move(read)) : std::nullopt;
}

std::vector<OpenFile> ProcessSnapshot::open_files() const {
  auto read = read_open_files(pid);
  return read ? std::move(read->files) : std::vector<OpenFile>();
}

// The addresses that the kernel puts on the stack differ from one exec(2) to
// the next.
bool ProcessSnapshot::forked_from(int parent) const {
  const auto ours = read_proc_record(pid, "auxv");
  const auto theirs = read_proc_record(parent, "auxv");
  return ours && theirs && !ours->empty() && *ours == *theirs;
}

const PythonProcess* ProcessSnapshot::whole() const {
  if (memory_left) {
    return nullptr;
  }
  if (!whole_) {
    whole_ = open_process(pid);
  }
  return *whole_ ? &**whole_ : nullptr;
}

const ProcessGroups& ProcessSnapshot::process_groups() const {
  if (!groups_) {
    const PythonProcess* const process = objects_ ? whole() : nullptr;
    if (process != nullptr) {
      objects_->allow_reads();
      auto read = read_process_groups(*objects_, LiveTarget(*process));
      groups_ = std::move(read).value_or(ProcessGroups());
    } else {
      groups_.emplace();
    }
  }
  return *groups_;
}

std::vector<std::string> ProcessSnapshot::native(
    const ThreadSnapshot& thread) const {
  std::vector<std::string> functions;
  for (const StackEntry& entry : native_calls(thread)) {
    functions.push_back(printable(entry.native.text()));
  }
  return functions;
}

std::vector<StackEntry> ProcessSnapshot::native_calls(
    const ThreadSnapshot& thread) const {
  const PythonProcess* const process = whole();
  if (process == nullptr) {
    return {};
  }
  auto dumped = dump_thread(LiveTarget(*process), thread.id.tid,
                            {.may_stop = system.may_stop,
                             .native = true,
                             .native_all = !thread.python});
  if (!dumped || !dumped->merged) {
    return {};
  }
  auto& entries = dumped->merged->entries;
  entries.erase(
      std::ranges::find(entries, StackEntry::Kind::Python, &StackEntry::kind),
      entries.end());
  return std::move(entries);
}

}  // namespace hangdbg
