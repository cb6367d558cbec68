// What a ProcessSnapshot reads once more, as its sample of a thread is out of
// date: by a memory reader of its own where data may have changed.
#include <thread>

#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/cpython/objects/repr.h"
#include "inspector/cpython/stacks/python_locals.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/cpython/stacks/thread_sample.h"
#include "tracee/proc/task_ids.h"
#include "tracee/program/environment.h"

namespace hangdbg {
namespace {

template <class T>
std::optional<T> if_read(Result<T> result) {
  return result ? std::optional(*std::move(result)) : std::nullopt;
}

}  // namespace

std::optional<WaitSample> ProcessSnapshot::wait_now(int tid) const {
  return if_read(sample_wait(pid, tid));
}

std::optional<ProcStatus> ProcessSnapshot::status_now(int tid) const {
  return if_read(read_task_status(pid, tid));
}

std::optional<SchedStats> ProcessSnapshot::runs_now(int tid) const {
  return if_read(read_task_runs(pid, tid));
}

std::optional<GilState> ProcessSnapshot::gil_now() const {
  const auto tasks = TaskIds::read(pid);
  return tasks && process_
             ? if_read(read_gil(process_->memory, process_->python, *tasks))
             : std::nullopt;
}

std::vector<PythonStack> ProcessSnapshot::watch_stack(
    const ThreadSnapshot& thread,
    int samples,
    Deadline::Clock::duration apart) const {
  constexpr std::size_t kFrames = 300;
  const LiveTarget target(process());
  PythonStackReader stacks(process().memory, process().python);
  std::vector<PythonStack> seen;
  for (int i = 0; i < samples; ++i) {
    std::this_thread::sleep_for(apart);
    auto one = target.look(stacks, *thread.python,
                           {.most = kFrames, .may_stop = system.may_stop});
    if (one && one->stack.complete) {
      seen.push_back(std::move(one->stack));
    }
  }
  return seen;
}

std::map<std::string, std::string> ProcessSnapshot::locals_now(
    const PythonFrame& frame) const {
  std::map<std::string, std::string> values;
  const auto objects = ObjectReader::open(process().memory, process().python);
  const auto variables = objects
                             ? read_locals(*objects, frame.address, frame.code)
                             : std::unexpected(Error());
  for (const Variable& one : variables ? *variables : std::vector<Variable>()) {
    values[one.name] =
        repr(*objects, one.object, {.depth = 1, .items = 3, .text = 40});
  }
  return values;
}

AsyncioTasks ProcessSnapshot::asyncio_tasks() const {
  PythonStackReader stacks(process().memory, process().python);
  std::vector<PythonThread> known;
  for (const ThreadSnapshot* const one : python_threads()) {
    known.push_back(*one->python);
  }
  objects().allow_reads();
  return read_asyncio_tasks(objects(), process().python, process().modules, pid,
                            stacks, known);
}

std::optional<std::string> ProcessSnapshot::variable(
    std::string_view name) const {
  const auto environment = Environment::read(pid);
  const auto found = environment ? environment->find(name) : std::nullopt;
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

}  // namespace hangdbg
