#include "server/gil_watch.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "injector/injection_lock.h"
#include "inspector/python_stack.h"
#include "server/hung_thread.h"
#include "tracee/attachment.h"
#include "tracee/proc_tasks.h"

namespace hangdbg {
namespace {

// A holder that runs is stopped for a moment to see where: not often.
constexpr auto kBetweenStops = std::chrono::milliseconds(200);
constexpr auto kPatience = std::chrono::milliseconds(100);
constexpr auto kWorthSaying = std::chrono::seconds(1);

constexpr std::string_view kEvalLoop = "_PyEval_EvalFrameDefault";

// Where a thread is that runs. Under the injection lock: another hangdbg would
// take us for a debugger.
std::optional<Address> stop_and_read_pc(int pid, int tid) {
  const auto lock = lock_injections(pid, Deadline::in({}));
  if (!lock) {
    return {};
  }
  return run_as_tracer([&]() -> std::optional<Address> {
    auto thread = Attachment::seize(tid);
    if (!thread || !thread->interrupt(Deadline::in(kPatience))) {
      return {};
    }
    const auto registers = thread->registers();
    return registers ? std::optional(registers->pc()) : std::nullopt;
  });
}

}  // namespace

GilWatch::Verdict GilWatch::look() {
  const auto tasks = TaskIds::read(target_.pid);
  if (!tasks) {
    return Verdict::Unknown;
  }
  const auto gil =
      read_gil(target_.memory, target_.python, *tasks, interpreter_);
  if (!gil) {
    return Verdict::Unknown;
  }
  if (!gil->locked) {
    holder_.reset();
    return Verdict::Free;
  }
  auto threads = python_threads(target_.memory, target_.python, *tasks);
  if (!threads) {
    return Verdict::Unknown;
  }
  const auto found =
      std::ranges::find(*threads, gil->holder, &PythonThread::state);
  if (found == threads->end()) {
    return Verdict::Unknown;
  }
  const bool first = !holder_;
  const bool stands = holder_ && found->same_place(*holder_);
  holder_ = *std::move(found);
  if (!stands) {
    since_ = Deadline::Clock::now();
    return first ? Verdict::Unknown : Verdict::Moves;
  }
  if (runs_bytecode()) {
    since_ = Deadline::Clock::now();
    return Verdict::Moves;
  }
  return Verdict::Stands;
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
  const auto wait = look_at_wait(target_.pid, *holder_->tid);
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

// A loop of one instruction is always at the same place. It runs, and not in
// a C function: in the loop that looks whether others want the GIL, or (its
// symbols may be gone) in some function of Python's own.
bool GilWatch::runs_bytecode() {
  const auto now = Deadline::Clock::now();
  if (!holder_->tid || now - looked_at_native_ < kBetweenStops) {
    return false;
  }
  const auto call = read_task_syscall(target_.pid, *holder_->tid);
  if (!call || !call->running) {
    return false;
  }
  looked_at_native_ = now;
  const auto native = native_place_of(*holder_->tid, {});
  return native && native->module == target_.python.module &&
         (native->function.empty() || native->function == kEvalLoop);
}

std::optional<NativePlace> GilWatch::native_place_of(
    int tid,
    const HiddenName& hidden) const {
  const auto call = read_task_syscall(target_.pid, tid);
  if (!call) {
    return {};
  }
  if (call->running) {
    const auto pc = stop_and_read_pc(target_.pid, tid);
    return pc ? native_place(target_.memory, target_.modules, *pc, hidden)
              : std::nullopt;
  }
  // All that unwinding from a system call needs.
  user_regs_struct registers{};
  registers.rip = call->pc.value;
  registers.rsp = call->sp.value;
  return native_place(target_.memory, target_.modules, registers, hidden,
                      Deadline::in(kPatience));
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
