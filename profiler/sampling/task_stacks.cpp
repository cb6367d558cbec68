#include "profiler/sampling/task_stacks.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "inspector/cpython/code/loop_conditions.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr int kTasksShare = 10;
constexpr std::size_t kMostLogicalFrames = 5000;

bool is_loops_turn(const PythonFrame& frame) {
  return frame.function == "_run_once" &&
         frame.file.ends_with("/asyncio/base_events.py");
}

// What a loop has called: a task's step, or any callback.
bool is_callback(const PythonFrame& frame) {
  return frame.function == "_run" && frame.file.ends_with("/asyncio/events.py");
}

// Of a loop in which no frame shows that it runs: one that is written in C.
bool calls_loop(std::string_view callee) {
  return callee.ends_with(".run_forever") ||
         callee.ends_with(".run_until_complete");
}

}  // namespace

TaskPart TaskStacks::find(const FrameChain& chain) const {
  for (const RawFrame& raw : chain.frames) {
    const auto root = roots_.find(raw.address);
    if (root == roots_.end()) {
      continue;
    }
    const std::size_t at = root->second;
    const auto hold = [&](Address task, ReadNotes TaskNotes::*notes) {
      return (notes_.at(task).*notes).hold(process_.memory);
    };
    const bool known = hold(above_[at].task, &TaskNotes::root_of_task) &&
                       std::ranges::all_of(chains_[at], [&](Address task) {
                         return hold(task, &TaskNotes::all);
                       });
    return known ? TaskPart{raw.address, first_ + at} : TaskPart{};
  }
  return {};
}

bool TaskStacks::learn(const FrameChain& chain,
                       const PythonThread& thread,
                       const std::vector<PythonThread>& threads) {
  if (!next_.expired()) {
    return false;
  }
  const auto stack = stacks_.name(chain);
  return stack && may_run_task(*stack, thread) && read(threads);
}

std::optional<std::vector<LogicalStack>> TaskStacks::waiting(
    const FrameChain& chain,
    const PythonThread& thread,
    const std::vector<PythonThread>& threads) {
  if (!next_.expired()) {
    return {};
  }
  const auto stack = stacks_.name(chain);
  if (!stack) {
    return {};
  }
  std::vector<LogicalStack> all;
  const auto loop = sleeping_loop(*stack, thread);
  if (!loop) {
    return all;
  }
  if (!read(threads)) {
    return {};
  }
  std::set<Address> shown;
  const auto show = [&](std::size_t i) {
    const AsyncioTask& task = tasks_.tasks[i];
    LogicalStack one{task.address, task.name, task.stack.frames};
    one.frames.insert(one.frames.end(), above_[i].frames.begin(),
                      above_[i].frames.end());
    shown.insert(task.address);
    shown.insert(chains_[i].begin(), chains_[i].end());
    all.push_back(std::move(one));
  };
  const auto is_its = [&](std::size_t i) {
    return tasks_.tasks[i].state == "waits" &&
           !tasks_.tasks[i].stack.frames.empty() &&
           notes_.at(tasks_.tasks[i].address).loop == *loop;
  };
  // Those that wait for no task; then those that none of them has above it.
  for (std::size_t i = 0; i < tasks_.tasks.size(); ++i) {
    if (is_its(i) && tasks_.tasks[i].waits_for.empty()) {
      show(i);
    }
  }
  for (std::size_t i = 0; i < tasks_.tasks.size(); ++i) {
    if (is_its(i) && !shown.contains(tasks_.tasks[i].address)) {
      show(i);
    }
  }
  return all;
}

bool TaskStacks::read(const std::vector<PythonThread>& threads) {
  const auto began = Deadline::Clock::now();
  first_ += above_.size();
  roots_.clear();
  waiters_.clear();
  chains_.clear();
  above_.clear();
  notes_.clear();
  const auto objects = ObjectReader::open(process_.memory, process_.python);
  if (objects) {
    tasks_ =
        read_noted_tasks(*objects, process_.python, process_.modules,
                         TargetFiles(process_.pid), stacks_, threads, &notes_);
    std::erase_if(tasks_.tasks, [&](const AsyncioTask& task) {
      return !notes_.contains(task.address);
    });
    for (const AsyncioTask& task : tasks_.tasks) {
      for (const Address waited_for : task.waits_for) {
        waiters_[waited_for].push_back(&task);
      }
    }
    for (const AsyncioTask& task : tasks_.tasks) {
      roots_[notes_.at(task.address).root] = above_.size();
      LogicalStack above{task.address, task.name, {}};
      auto& chain = chains_.emplace_back();
      for (const AsyncioTask* const waiter : awaiters(task)) {
        std::ranges::copy(waiter->stack.frames,
                          std::back_inserter(above.frames));
        chain.push_back(waiter->address);
      }
      above_.push_back(std::move(above));
    }
  }
  next_ = Deadline::in((Deadline::Clock::now() - began) * kTasksShare);
  return objects.has_value();
}

// As long as there is one: where several wait for a task, it is the first of
// its stack.
std::vector<const AsyncioTask*> TaskStacks::awaiters(
    const AsyncioTask& task) const {
  std::vector<const AsyncioTask*> chain;
  std::set<Address> met = {task.address};
  std::size_t frames = 0;
  const AsyncioTask* last = &task;
  while (frames < kMostLogicalFrames) {
    const auto waiters = waiters_.find(last->address);
    if (waiters == waiters_.end() || waiters->second.size() != 1 ||
        !waiters->second.front()->stack.complete ||
        !met.insert(waiters->second.front()->address).second) {
      break;
    }
    last = waiters->second.front();
    frames += last->stack.frames.size();
    chain.push_back(last);
  }
  return chain;
}

// Not where asyncio's own loop is asleep, or at work between two tasks.
bool TaskStacks::may_run_task(const PythonStack& stack,
                              const PythonThread& thread) {
  for (const PythonFrame& frame : stack.frames) {
    if (is_callback(frame)) {
      return true;
    }
    if (is_loops_turn(frame)) {
      return false;
    }
  }
  return running_loop(thread).has_value();
}

// That has called nothing which sleeps in its place. A loop in C shows in no
// frame: it runs in the thread, and the innermost frame has called it.
std::optional<Address> TaskStacks::sleeping_loop(const PythonStack& stack,
                                                 const PythonThread& thread) {
  const auto objects = ObjectReader::open(process_.memory, process_.python);
  if (!objects || stack.frames.empty()) {
    return {};
  }
  objects->allow_reads();
  for (const PythonFrame& frame : stack.frames) {
    if (is_callback(frame)) {
      return {};
    }
    if (is_loops_turn(frame)) {
      const auto self = find_name(*objects, frame.address, frame.code, "self");
      return self ? std::optional(*self) : std::nullopt;
    }
  }
  const PythonFrame& innermost = stack.frames.front();
  const auto loop = running_loop(thread);
  const auto at =
      loop ? read_frame_loops(*objects, innermost.code, innermost.offset)
           : Result<FrameLoops>(FrameLoops{});
  return at && calls_loop(at->call.callee) ? loop : std::nullopt;
}

std::optional<Address> TaskStacks::running_loop(const PythonThread& thread) {
  const auto objects = ObjectReader::open(process_.memory, process_.python);
  if (!objects) {
    return {};
  }
  objects->allow_reads();
  return running_loops_.of(*objects, thread.state).value_or(std::nullopt);
}

}  // namespace hangdbg
