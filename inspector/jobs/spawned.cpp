#include "inspector/jobs/spawned.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/snapshot/process_dump.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr std::string_view kSpawnedTorch = "torch/multiprocessing/spawn.py";
constexpr std::string_view kPython = "multiprocessing/process.py";

std::optional<DumpedThread> main_thread(int pid, bool locals);
std::optional<std::size_t> find_spawner(const PythonStack& stack,
                                        std::string_view function,
                                        std::string_view file);
std::optional<std::size_t> beginning_of_rank(const PythonStack& stack);
std::optional<int> local(const DumpedThread& thread,
                         std::size_t frame,
                         std::string_view name);

}  // namespace

bool is_worker(int pid) {
  const auto main = main_thread(pid, false);
  return main && find_spawner(main->stack, "_bootstrap", kPython) &&
         !beginning_of_rank(main->stack);
}

bool is_spawned(int pid) {
  const auto words = read_command_line(pid);
  return std::ranges::find(words, "--multiprocessing-fork") != words.end();
}

// A forked one has a place to meet and no number yet.
bool may_be_spawned(int pid, const Environment& environment) {
  return is_spawned(pid) ||
         (environment.find("MASTER_ADDR") && environment.find("MASTER_PORT"));
}

std::optional<RankIdentity> spawned_rank(int pid,
                                         int parent,
                                         const Environment& environment) {
  const auto main = main_thread(pid, true);
  const auto frame = main ? beginning_of_rank(main->stack) : std::nullopt;
  const auto number = frame ? local(*main, *frame, "i") : std::nullopt;
  if (!number || *number < 0 || *number >= kMostRanks) {
    return std::nullopt;
  }
  RankIdentity identity{.kind = std::string(kTorchKind),
                        .job = rendezvous_address(environment),
                        .rank = *number,
                        .local_rank = *number,
                        .spawned = true};
  const auto starter = main_thread(parent, true);
  const auto starting =
      starter ? find_spawner(starter->stack, "start_processes", kSpawnedTorch)
              : std::nullopt;
  const auto size =
      starting ? local(*starter, *starting, "nprocs") : std::nullopt;
  if (size && *size > *number && *size <= kMostRanks) {
    identity.world_size = identity.local_size = size;
  }
  return identity;
}

namespace {

// Locals: numbers are all that is wanted of them.
std::optional<DumpedThread> main_thread(int pid, bool locals) {
  constexpr ReprLimits kShort = {
      .depth = 0, .items = 1, .text = 10, .characters = 20};
  const auto process = open_python(pid);
  if (!process) {
    return std::nullopt;
  }
  DumpOptions options{.may_stop = false};
  if (locals) {
    options.locals = kShort;
  }
  auto main = dump_thread(LiveTarget(*process), pid, options);
  return main ? std::optional(*std::move(main)) : std::nullopt;
}

// The innermost one.
std::optional<std::size_t> find_spawner(const PythonStack& stack,
                                        std::string_view function,
                                        std::string_view file) {
  const auto found =
      std::ranges::find_if(stack.frames, [&](const PythonFrame& frame) {
        return frame.function == function && frame.file.ends_with(file);
      });
  return found == stack.frames.end() ? std::nullopt
                                     : std::optional(static_cast<std::size_t>(
                                           found - stack.frames.begin()));
}

// Torch's frame in which a rank begins. A worker that a rank has forked has it
// as well, and begins once more further in.
std::optional<std::size_t> beginning_of_rank(const PythonStack& stack) {
  const auto begins = find_spawner(stack, "_wrap", kSpawnedTorch);
  const auto worker = find_spawner(stack, "_bootstrap", kPython);
  return begins && !(worker && *worker < *begins) ? begins : std::nullopt;
}

std::optional<int> local(const DumpedThread& thread,
                         std::size_t frame,
                         std::string_view name) {
  if (frame >= thread.locals.size()) {
    return std::nullopt;
  }
  const auto& variables = thread.locals[frame];
  const auto found = std::ranges::find(variables, name, &DumpedVariable::name);
  return found == variables.end() ? std::nullopt
                                  : parse_number<int>(found->text);
}

}  // namespace
}  // namespace hangdbg
