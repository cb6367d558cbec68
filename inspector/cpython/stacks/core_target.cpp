#include "inspector/cpython/stacks/core_target.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

// Where the thread was, as /proc would have said it. The kernel leaves
// orig_rax at -1 unless a system call was interrupted.
WaitSample wait_in(const Registers& registers) {
  WaitSample wait;
  wait.state = WaitSample::kNoMore;
  if (!registers.in_syscall()) {
    wait.call.running = true;
    return wait;
  }
  const user_regs_struct& raw = registers.raw;
  wait.call = {.number = registers.syscall_number(),
               .args = {raw.rdi, raw.rsi, raw.rdx, raw.r10, raw.r8, raw.r9},
               .sp = registers.sp(),
               .pc = registers.pc()};
  wait.syscall = syscall_name(wait.call.number);
  return wait;
}

}  // namespace

Result<std::unique_ptr<CoreTarget>> CoreTarget::open(const CoreFile& core) {
  const CachedMemory cached(core.memory);
  auto python = find_python(
      cached, core.modules, [&](const Module& module, const ElfImage& image) {
        return FileSymbols::read(core.files, cached, module, image);
      });
  if (!python) {
    Error error = std::move(python).error();
    error.message = fmt::format("{}: {}", printable(core.path), error.message);
    error.hint = core.unknown.empty()
                     ? fmt::format("gdb -c {}", shell_quote(core.path))
                     : fmt::format("--sysroot DIR says where {} is",
                                   printable(core.unknown.front()));
    return std::unexpected(std::move(error));
  }
  return std::unique_ptr<CoreTarget>(new CoreTarget(
      core, std::make_unique<PythonRuntime>(*std::move(python))));
}

CoreTarget::CoreTarget(const CoreFile& core,
                       std::unique_ptr<PythonRuntime> python)
    : Target(core.notes.pid,
             core.memory,
             core.maps,
             core.modules,
             *python,
             core.files),
      core_(core),
      python_(std::move(python)) {}

Result<std::vector<int>> CoreTarget::threads() const {
  std::vector<int> tids;
  std::ranges::transform(core_.notes.threads, std::back_inserter(tids),
                         &CoreThread::tid);
  std::ranges::sort(tids);
  return tids;
}

Result<TaskIds> CoreTarget::tasks() const {
  return TaskIds(TRY(threads()));
}

Result<ThreadSample> CoreTarget::look(PythonStackReader& stacks,
                                      const PythonThread& thread,
                                      const SampleOptions& options) const {
  ThreadSample look;
  if (thread.state) {
    look.stack = TRY(stacks.read(thread.state, options.most));
  }
  look.stack.exact = true;
  const auto found = std::ranges::find_if(
      core_.notes.threads,
      [&](const CoreThread& other) { return other.tid == thread.tid; });
  if (found != core_.notes.threads.end()) {
    const Registers registers{found->registers};
    look.wait = wait_in(registers);
    if (options.copy) {
      TRY(options.copy(registers));
    }
  }
  return look;
}

std::vector<std::string> CoreTarget::command_line() const {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(core_.notes.arguments)) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace hangdbg
