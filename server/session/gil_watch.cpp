#include "server/session/gil_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <thread>
#include <utility>

#include "base/text.h"
#include "injector/injection_lock.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "server/session/hung_thread.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

// A holder that runs is stopped for a moment to see where: not often.
constexpr auto kBetweenStops = std::chrono::milliseconds(200);
constexpr auto kGilWatchPatience = std::chrono::milliseconds(100);
// For how long threads that hold us up are watched, and for how long if all of
// them sleep.
constexpr auto kGilWatchTime = std::chrono::milliseconds(60);
constexpr auto kWatchSleepers = std::chrono::milliseconds(2);
constexpr auto kSteady = std::chrono::milliseconds(3);
constexpr auto kBetweenGlances = std::chrono::microseconds(50);
constexpr auto kWorthSaying = std::chrono::seconds(1);

constexpr std::string_view kEvalLoop = "_PyEval_EvalFrameDefault";

// Where a thread is that runs. Under the injection lock: another hangdbg would
// take us for a debugger.
std::optional<Registers> stop_and_read(int pid, int tid) {
  const auto lock = lock_injections(pid, Deadline::in({}));
  if (!lock) {
    return {};
  }
  return run_as_tracer([&]() -> std::optional<Registers> {
    auto thread = TracedThread::seize(tid);
    if (!thread || !thread->interrupt(Deadline::in(kGilWatchPatience))) {
      return {};
    }
    const auto registers = thread->registers();
    return registers ? std::optional(*registers) : std::nullopt;
  });
}

// Another client's, in those functions of agent/ that ask for one.
bool waits_for_a_pause(const PythonThread& thread) {
  constexpr std::array<std::string_view, 4> kAsk = {
      "_other_frames", "locals_of", "_is_module", "_bind_local"};
  return thread.file == "<hangdbg>" &&
         std::ranges::find(kAsk, thread.function) != kAsk.end();
}

bool is_asleep(int pid, std::optional<int> tid) {
  const auto call = tid ? read_task_syscall(pid, *tid) : fail({}, {});
  return call && !call->running;
}

// Whether one thread of the interpreter is attached, and the others are
// suspended: then it is the one that has asked for that (stop_the_world in
// Python/pystate.c).
bool has_paused_others(const std::vector<PythonThread>& threads,
                       std::int64_t interpreter) {
  int attached = 0;
  int suspended = 0;
  int all = 0;
  for (const PythonThread& thread : threads) {
    if (thread.interpreter == interpreter) {
      attached += thread.attached;
      suspended += thread.suspended;
      ++all;
    }
  }
  return attached == 1 && suspended > 0 && attached + suspended == all;
}

}  // namespace

GilWatch::Verdict GilWatch::look() {
  const bool was_paused = paused_;
  auto holders = read_holders();
  if (!holders) {
    return Verdict::Unknown;
  }
  const auto before = std::exchange(holders_, *std::move(holders));
  if (holders_.empty()) {
    holder_.reset();
    return Verdict::Free;
  }
  if (paused_) {
    keep(holders_.front(), !was_paused);
    return Verdict::Free;
  }
  // Who has paused all others holds nobody up: at the end of its pause they are
  // let go one after another, and are not suspended while it still looks so.
  if (was_paused) {
    keep(holders_.front(), true);
    return Verdict::Unknown;
  }
  may_stop_ = Deadline::Clock::now() - looked_at_native_ >= kBetweenStops;
  // With a GIL: it changes hands, or its holder is at another place than at the
  // last look. Without, that look may be long ago, and a pause that does not
  // come stops the program.
  const bool moved = has_gil_ && !before.empty() &&
                     !before.front().same_place(holders_.front());
  auto verdict = Verdict::Moves;
  PythonThread holder = holders_.front();
  for (PythonThread& thread :
       moved ? std::vector<PythonThread>() : those_that_stand(holders_)) {
    if (runs_bytecode(thread)) {
      continue;
    }
    if (std::ranges::find(before, thread.state, &PythonThread::state) ==
        before.end()) {
      verdict = verdict == Verdict::Stands ? verdict : Verdict::Unknown;
      continue;
    }
    // Of several, one that sleeps: the others may just have no CPU.
    const bool sleeps = is_asleep(target_.pid, thread.tid);
    if (verdict != Verdict::Stands || sleeps) {
      verdict = Verdict::Stands;
      holder = std::move(thread);
    }
    if (sleeps) {
      break;
    }
  }
  keep(std::move(holder), verdict == Verdict::Moves);
  return verdict;
}

void GilWatch::keep(PythonThread holder, bool moves) {
  if (moves || !holder_ || !holder.same_place(*holder_)) {
    since_ = Deadline::Clock::now();
  }
  holder_ = std::move(holder);
}

// None, if it is free.
Result<std::vector<PythonThread>> GilWatch::read_holders() {
  paused_ = false;
  const auto tasks = TRY(TaskIds::read(target_.pid));
  const auto gil =
      TRY(read_gil(target_.memory, target_.python, tasks, interpreter_));
  has_gil_ = gil.enabled;
  if (gil.enabled && !gil.locked) {
    return {};
  }
  auto threads = TRY(python_threads(target_.memory, target_.python, tasks));
  paused_ = !gil.enabled && has_paused_others(threads, interpreter_);
  std::erase_if(threads, [&](const PythonThread& thread) {
    return gil.enabled
               ? thread.state != gil.holder
               : !thread.attached || thread.interpreter != interpreter_ ||
                     waits_for_a_pause(thread);
  });
  if (gil.enabled && threads.empty()) {
    return fail(ErrorId::Unreadable, "the GIL's holder is no thread of it");
  }
  return threads;
}

std::string GilWatch::reason() {
  return (has_gil_  ? "the GIL is held by "
          : paused_ ? "all threads are paused by "
                    : "a pause of all threads is held up by ") +
         holder();
}

std::string GilWatch::holder() {
  if (!holder_ || !holder_->tid) {
    return "another thread";
  }
  std::string text = fmt::format("thread {}", *holder_->tid);
  const auto native =
      native_place_of(*holder_->tid, [this](std::size_t module, Address code) {
        return hidden_name(module, code);
      });
  if (native && native->function != kEvalLoop) {
    text += " in " + native->text;
  }
  PythonStackReader reader(target_.memory, target_.python);
  if (const auto stack = reader.read(holder_->state, 1);
      stack && !stack->frames.empty()) {
    const PythonFrame& frame = stack->frames.front();
    text += fmt::format(
        "{} {} ({}:{})",
        native && native->function != kEvalLoop ? ", called from" : " in",
        frame.qualname, frame.file.substr(frame.file.rfind('/') + 1),
        frame.line);
  }
  const auto wait = sample_wait(target_.pid, *holder_->tid);
  const auto stands_for =
      wait && wait->asleep_s
          ? std::chrono::duration_cast<Deadline::Clock::duration>(
                std::chrono::duration<double>(*wait->asleep_s))
          : stood();
  if (stands_for > kWorthSaying) {
    text += ", for " + human_duration(stands_for);
  }
  return text;
}

// One that is often in the same call has perhaps left it since and come back;
// one that can run, and does not move, may have no CPU. Without a GIL it is not
// enough to see one call end: the next may be as long. So it must still move
// after that.
std::vector<PythonThread> GilWatch::those_that_stand(
    std::vector<PythonThread> threads) const {
  std::map<Address, Deadline> steady;  // of those that have moved, by state
  const auto moves = [&](PythonThread& thread) {
    const auto now = look_again(target_.memory, target_.python, thread);
    if (!now || (now->attached == thread.attached && now->same_place(thread))) {
      return false;
    }
    const bool is_free = has_gil_ || now->attached != thread.attached;
    const auto [since, first] =
        steady.try_emplace(thread.state, Deadline::in(kSteady));
    thread = *now;
    return is_free || (!first && since->second.expired());
  };
  const auto sleeps = [&](const PythonThread& thread) {
    return is_asleep(target_.pid, thread.tid);
  };
  const auto end = Deadline::in(kGilWatchTime);
  const auto sleepers_end = Deadline::in(kWatchSleepers);
  while (!threads.empty() && !end.expired() &&
         !(sleepers_end.expired() && std::ranges::all_of(threads, sleeps))) {
    std::erase_if(threads, moves);
    std::this_thread::sleep_for(kBetweenGlances);
  }
  return threads;
}

// A loop of one instruction is always at the same place. It runs, and not in
// a C function: in the loop that looks whether others want the GIL, or, if its
// symbols are gone, in some function of Python's own; but a wrong guess may
// cost too much where there is no GIL. There Python's locks yield some forty
// times before they sleep, which may take long where many want a CPU.
bool GilWatch::runs_bytecode(const PythonThread& thread) {
  if (!thread.tid || !may_stop_) {
    return false;
  }
  const auto call = read_task_syscall(target_.pid, *thread.tid);
  if (!call || !call->running) {
    return false;
  }
  looked_at_native_ = Deadline::Clock::now();
  const auto registers = stop_and_read(target_.pid, *thread.tid);
  const auto native =
      registers ? native_place(target_.memory, target_.modules, registers->pc(),
                               [this](std::size_t module, Address code) {
                                 return hidden_name(module, code);
                               })
                : std::nullopt;
  if (!native) {
    return false;
  }
  if (native->function.ends_with("sched_yield")) {
    const auto caller = target_.memory.read_address(registers->sp());
    return caller && target_.modules[target_.python.module].contains(*caller);
  }
  if (native->module != target_.python.module) {
    return false;
  }
  return native->function.empty() ? has_gil_
                                  : native->function.starts_with(kEvalLoop);
}

std::optional<NativePlace> GilWatch::native_place_of(
    int tid,
    const HiddenName& hidden) const {
  const auto call = read_task_syscall(target_.pid, tid);
  if (!call) {
    return {};
  }
  if (call->running) {
    const auto registers = stop_and_read(target_.pid, tid);
    return registers ? native_place(target_.memory, target_.modules,
                                    registers->pc(), hidden)
                     : std::nullopt;
  }
  // All that unwinding from a system call needs.
  user_regs_struct registers{};
  registers.rip = call->pc.value;
  registers.rsp = call->sp.value;
  return native_place(target_.memory, target_.modules, registers, hidden,
                      Deadline::in(kGilWatchPatience));
}

// The compiler's own endings ("eval.cold", "step.part.0") are left out.
std::optional<std::string> GilWatch::hidden_name(std::size_t module,
                                                 Address code) {
  auto known = file_symbols_.find(module);
  if (known == file_symbols_.end()) {
    const Module& at = target_.modules[module];
    const auto image = ElfImage::read(target_.memory, at.base);
    auto symbols =
        image ? FileSymbols::read(target_.pid, target_.memory, at, *image)
              : std::unexpected(image.error());
    known = file_symbols_
                .emplace(module, symbols ? std::optional(*std::move(symbols))
                                         : std::nullopt)
                .first;
  }
  if (!known->second) {
    return {};
  }
  auto name = known->second->function_at(code);
  return name ? std::optional(name->substr(0, name->find('.'))) : name;
}

}  // namespace hangdbg
