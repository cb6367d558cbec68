#include "diagnosis/snapshot/case.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "inspector/cpython/expressions/peek.h"
#include "inspector/cpython/expressions/value.h"
#include "inspector/cpython/locks/waiting_rooms.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/stacks/subject.h"
#include "inspector/cpython/stacks/thread_look.h"
#include "inspector/cpython/stacks/thread_names.h"
#include "inspector/snapshot/native_dump.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

constexpr std::size_t kFrames = 300;  // innermost ones of a thread
constexpr std::size_t kCaseLooks = 5;
constexpr auto kBetweenLooks = std::chrono::milliseconds(45);
constexpr double kMoment = 1;  // seconds: who sleeps for longer, sleeps
constexpr std::size_t kMostMoving = 50;

bool may_move(const CaseThread& thread) {
  return thread.wait.state == 'R' ||
         (thread.wait.state == 'S' && !(thread.wait.asleep_s >= kMoment));
}

class NoMemory final : public MemoryReader {
 public:
  Status read(Address, std::span<std::byte>) const override {
    return fail(ErrorId::Unreadable, "its memory does not answer", "");
  }
};

double cpu_s(const WaitLook& wait) {
  return wait.runs.nanoseconds > 0
             ? static_cast<double>(wait.runs.nanoseconds) / 1e9
             : static_cast<double>(wait.cpu_ticks) /
                   static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

bool CaseThread::wakes_by_itself() const {
  return sleeps_in("futex") && wait.call.args[3] != 0;
}

const PythonFrame* CaseThread::find(std::string_view function,
                                    std::string_view file,
                                    std::size_t depth) const {
  for (std::size_t i = 0; i < std::min(depth, frames().size()); ++i) {
    if (frames()[i].function == function && frames()[i].file.ends_with(file)) {
      return &frames()[i];
    }
  }
  return nullptr;
}

const PythonFrame* CaseThread::own_frame() const {
  const auto own = std::ranges::find_if(frames(), [](const PythonFrame& frame) {
    return !is_library(frame.file);
  });
  return own == frames().end() ? nullptr : &*own;
}

std::string CaseThread::who() const {
  return id.pid == id.tid ? fmt::format("process {}", id.pid)
         : name.empty()
             ? fmt::format("thread {}", id.tid)
             : fmt::format("thread {} \"{}\"", id.tid, printable(name));
}

std::string CaseThread::place() const {
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

Case::Case(int pid, World& world, Memory memory)
    : pid(pid), world(world), memory_left(memory == Memory::Left) {
  if (memory_left) {
    memory_ = std::make_unique<NoMemory>();
  } else {
    memory_ = std::make_unique<LiveMemory>(pid);
  }
}

Result<std::unique_ptr<Case>> Case::open(int pid, World& world, Memory memory) {
  std::unique_ptr<Case> made(new Case(pid, world, memory));
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
    }
  }
  made->look();
  return made;
}

Case::~Case() = default;

std::string Case::title() const {
  const std::string command = printable(shell_quote(command_line));
  constexpr std::size_t kMost = 60;
  return fmt::format("process {} ({})", pid,
                     command.empty() ? printable(status.name)
                     : command.size() > kMost
                         ? to_utf8(command.substr(0, kMost)) + "…"
                         : command);
}

bool Case::handles_signals() const {
  std::uint64_t own = status.signals_caught & ((1ULL << 31) - 1);
  for (const int number :
       {SIGINT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
    own &= ~(1ULL << (number - 1));
  }
  return own != 0;
}

// Nothing else wakes it but a signal, whose handler would leave it where it is.
bool Case::takes_turns(const CaseThread& thread) const {
  return thread.ran && !thread.wakes_by_itself() &&
         (thread.places.size() > 1 || !handles_signals());
}

// Source: futex(2); with FUTEX_WAIT_BITSET the time is absolute.
std::optional<double> Case::wakes_in_s(const CaseThread& thread) const {
  if (!thread.wakes_by_itself()) {
    return {};
  }
  const auto& args = thread.wait.call.args;
  const auto until = memory().read_value<::timespec>(Address{args[3]});
  if (!until) {
    return {};
  }
  ::timespec now{};
  if ((args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
    ::clock_gettime(
        args[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC,
        &now);
  }
  return static_cast<double>(until->tv_sec - now.tv_sec) +
         static_cast<double>(until->tv_nsec - now.tv_nsec) / 1e9;
}

const CaseThread* Case::thread(int tid) const {
  const auto found = std::ranges::find_if(
      threads, [tid](const CaseThread& one) { return one.id.tid == tid; });
  return found == threads.end() ? nullptr : &*found;
}

const CaseThread* Case::by_ident(std::uint64_t ident) const {
  const auto found = std::ranges::find_if(threads, [&](const CaseThread& one) {
    return one.python && one.python->ident == ident;
  });
  return found == threads.end() ? nullptr : &*found;
}

std::vector<const CaseThread*> Case::python_threads() const {
  std::vector<const CaseThread*> with;
  for (const CaseThread& one : threads) {
    if (one.python) {
      with.push_back(&one);
    }
  }
  return with;
}

const CaseThread* Case::at_work(const CaseThread* but) const {
  constexpr double kPercent = 10;  // who polls or beats takes less
  const auto with = python_threads();
  const auto found = std::ranges::find_if(with, [&](const CaseThread* one) {
    return one != but &&
           (one->wait.state == 'R' || one->cpu_percent >= kPercent);
  });
  return found == with.end() ? nullptr : *found;
}

// ---- looks

void Case::look() {
  if (process_) {
    read_python();
  }
  const auto tids = list_tasks(pid);
  for (const int tid : tids ? *tids : std::vector<int>()) {
    if (thread(tid) != nullptr) {
      continue;
    }
    if (auto wait = look_at_wait(pid, tid)) {
      threads.push_back({.id = {pid, tid},
                         .name = tid == pid ? "" : wait->name,
                         .wait = *std::move(wait)});
    }
  }
  std::erase_if(threads, [](const CaseThread& one) {
    return is_agents_name(one.wait.name);
  });
  std::ranges::sort(threads, {}, [this](const CaseThread& one) {
    return std::tuple(one.id.tid != pid, one.id.tid);
  });
  look_again();
  if (process_) {
    if (auto heap = Heap::open(process_->memory, process_->python)) {
      heap_.emplace(*std::move(heap));
      const auto names = read_thread_names(*heap_, process_->python);
      for (CaseThread& one : threads) {
        if (one.python) {
          one.name = name_of(names, pid, *one.python);
        }
      }
    } else {
      process_.reset();
    }
  }
}

void Case::read_python() {
  const auto tasks = TaskIds::read(pid);
  if (!tasks) {
    return;
  }
  const auto known = hangdbg::python_threads(process_->memory, process_->python,
                                             *tasks, /*places=*/false);
  if (!known) {
    return;
  }
  const LiveSubject subject(*process_);
  PythonStackReader stacks(process_->memory, process_->python);
  for (const PythonThread& one : *known) {
    if (!one.tid) {
      continue;
    }
    auto seen = subject.look(stacks, one,
                             {.most = kFrames, .may_stop = world.may_stop});
    if (seen) {
      threads.push_back({.id = {pid, *one.tid},
                         .python = one,
                         .stack = std::move(seen->stack),
                         .wait = std::move(seen->wait)});
    }
  }
  const auto found = read_gil(process_->memory, process_->python, *tasks);
  if (found && found->enabled) {
    gil = *found;
  }
}

// At those that have just run, all at once, so that the time is waited for
// once.
void Case::look_again() {
  struct Moving {
    CaseThread* thread;
    WaitLook first;
  };
  std::vector<Moving> moving;
  for (CaseThread& one : threads) {
    if (one.python && may_move(one) && moving.size() < kMostMoving) {
      moving.push_back({&one, one.wait});
      one.places.insert(one.frames().empty() ? "" : place_of(one.frames()[0]));
    }
  }
  if (moving.empty()) {
    return;
  }
  const LiveSubject subject(*process_);
  PythonStackReader stacks(process_->memory, process_->python);
  const auto begun = std::chrono::steady_clock::now();
  for (std::size_t i = 1; i < kCaseLooks && !world.deadline().expired(); ++i) {
    std::this_thread::sleep_for(kBetweenLooks);
    for (const Moving& one : moving) {
      auto seen = subject.look(stacks, *one.thread->python,
                               {.most = kFrames, .may_stop = world.may_stop});
      if (!seen) {
        continue;
      }
      CaseThread& thread = *one.thread;
      ++thread.looks;
      thread.ran |= seen->wait.runs != one.first.runs;
      if (!seen->stack.frames.empty()) {
        thread.places.insert(place_of(seen->stack.frames[0]));
      }
      // Of one that comes and goes, where it sleeps.
      if (seen->wait.state != 'R' || thread.wait.state == 'R') {
        thread.stack = std::move(seen->stack);
        thread.wait = std::move(seen->wait);
      }
    }
  }
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - begun;
  for (const Moving& one : moving) {
    const auto last = look_at_wait(pid, one.thread->id.tid);
    one.thread->cpu_percent =
        last ? std::min(100.0, 100 * (cpu_s(*last) - cpu_s(one.first)) /
                                   std::max(passed.count(), 1e-9))
             : 0;
  }
}

// ---- values

std::optional<Address> Case::object(const PythonFrame& frame,
                                    std::string_view expression) const {
  if (!heap_) {
    return {};
  }
  heap_->allow_reads();
  const auto parsed = parse_expression(expression);
  const auto value = parsed ? evaluate(*heap_, frame, *parsed)
                            : std::unexpected(parsed.error());
  const auto* const object = value ? std::get_if<Address>(&*value) : nullptr;
  return object != nullptr ? std::optional(*object) : std::nullopt;
}

std::optional<std::string> Case::text(const PythonFrame& frame,
                                      std::string_view expression) const {
  const auto found = object(frame, expression);
  const auto type = found ? heap_->type_of(*found) : std::unexpected(Error());
  const auto name = type && (*type)->kind == Kind::Str
                        ? heap_->name(*found)
                        : std::unexpected(Error());
  return name ? std::optional(*name) : std::nullopt;
}

std::optional<std::int64_t> Case::number(const PythonFrame& frame,
                                         std::string_view expression) const {
  const auto found = object(frame, expression);
  const auto value =
      found ? int_value(*heap_, *found) : std::unexpected(Error());
  return value ? *value : std::nullopt;
}

std::string Case::shown(const PythonFrame& frame,
                        std::string_view expression) const {
  const auto found = object(frame, expression);
  return found ? repr(*heap_, *found, {.depth = 1, .items = 5, .text = 80})
               : "?";
}

// ---- the kernel

std::optional<OpenFile> Case::file(int fd) const {
  const auto link = read_proc_link(pid, fmt::format("fd/{}", fd));
  if (!link) {
    return {};
  }
  const auto info = read_proc_record(pid, fmt::format("fdinfo/{}", fd));
  return parse_open_file(fd, *link, info.value_or(""));
}

// What the kernel has put on its stack and where, differs from one exec(2) to
// the next.
bool Case::forked_from(int parent) const {
  const auto ours = read_proc_record(pid, "auxv");
  const auto theirs = read_proc_record(parent, "auxv");
  return ours && theirs && !ours->empty() && *ours == *theirs;
}

const InspectedProcess* Case::whole() const {
  if (memory_left) {
    return nullptr;
  }
  if (!whole_) {
    whole_ = open_process(pid);
  }
  return *whole_ ? &**whole_ : nullptr;
}

const ProcessGroups& Case::process_groups() const {
  if (!groups_) {
    const InspectedProcess* const process = heap_ ? whole() : nullptr;
    if (process != nullptr) {
      heap_->allow_reads();
      auto read = read_process_groups(*heap_, LiveSubject(*process));
      groups_ = std::move(read).value_or(ProcessGroups());
    } else {
      groups_.emplace();
    }
  }
  return *groups_;
}

std::vector<std::string> Case::native(const CaseThread& thread) const {
  std::vector<std::string> functions;
  for (const StackEntry& entry : native_calls(thread)) {
    functions.push_back(printable(entry.native.text()));
  }
  return functions;
}

std::vector<StackEntry> Case::native_calls(const CaseThread& thread) const {
  const InspectedProcess* const process = whole();
  if (process == nullptr) {
    return {};
  }
  auto dumped = dump_thread(LiveSubject(*process), thread.id.tid,
                            {.may_stop = world.may_stop,
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
