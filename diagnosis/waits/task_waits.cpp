#include "diagnosis/waits/task_waits.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"

namespace hangdbg {
namespace {

// The functions by which asyncio, anyio and Trio sleep, one calling another.
bool is_of_sleep(const PythonFrame& frame) {
  constexpr std::array<std::string_view, 7> kNames = {"sleep",
                                                      "sleep_until",
                                                      "sleep_forever",
                                                      "__sleep0",
                                                      "wait_task_rescheduled",
                                                      "_async_yield",
                                                      "_real_async_yield"};
  constexpr std::array<std::string_view, 3> kFiles = {"/asyncio/tasks.py",
                                                      "/anyio/", "/trio/"};
  return std::ranges::find(kNames, frame.function) != kNames.end() &&
         (is_library(frame.file) ||
          std::ranges::any_of(kFiles, [&](std::string_view file) {
            return frame.file.contains(file);
          }));
}

bool is_timed(const PythonFrame& frame) {
  return frame.function == "sleep" || frame.function == "sleep_until";
}

// The caller of a wait with a time limit: asyncio.wait_for() or a block with a
// timeout; from 3.12 on, the first uses the second.
std::optional<std::size_t> caller_of_timed(
    const ProcessSnapshot& of,
    const std::vector<PythonFrame>& frames) {
  const auto found = std::ranges::find_if(frames, [](const PythonFrame& frame) {
    return frame.function == "wait_for" &&
           frame.file.ends_with("/asyncio/tasks.py");
  });
  constexpr double kLongestRound = 60;  // seconds
  return found == frames.end() ||
                 std::strtod(of.shown(*found, "timeout").c_str(), nullptr) >
                     kLongestRound
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - frames.begin()) +
                             1);
}

bool is_named_sleep(const CallText& call) {
  const std::string_view callee = call.callee;
  return callee.substr(callee.rfind('.') + 1) == "sleep";
}

}  // namespace

const PythonFrame* own_frame(const AsyncioTask& task) {
  const auto& frames = task.stack.frames;
  const auto found = std::ranges::find_if(
      frames, [](const PythonFrame& one) { return !is_library(one.file); });
  return found == frames.end() ? nullptr : &*found;
}

TaskWait wait_of(const ProcessSnapshot& of, const AsyncioTask& task) {
  TaskWait made{.task = &task};
  const auto& frames = task.stack.frames;
  std::size_t sleeper = 0;
  while (sleeper < frames.size() && is_of_sleep(frames[sleeper])) {
    made.sleeps = made.sleeps || is_timed(frames[sleeper]);
    made.for_ever =
        made.for_ever || frames[sleeper].function == "sleep_forever";
    ++sleeper;
  }
  // Trio's other sleeps are that one, with a deadline.
  made.for_ever = made.for_ever && !made.sleeps;
  made.sleeps = made.sleeps || made.for_ever;
  if (const PythonFrame* const own = own_frame(task)) {
    if (const auto read = of.loops(*own)) {
      made.awaits = printable(read->call.text);
      // Tornado's sleep() is a future that a timer sets.
      made.sleeps =
          made.sleeps || (own == &frames.front() && is_named_sleep(read->call));
    }
  }
  if (made.sleeps) {
    made.loop = sleep_loop(of, frames, sleeper);
  } else if (const auto caller = caller_of_timed(of, frames)) {
    made.loop = timed_wait_loop(of, frames, *caller);
    if (made.loop && !made.loop->polls) {
      made.loop.reset();
    }
  }
  return made;
}

ThreadSnapshot as_thread(const ThreadSnapshot& loop, const TaskWait& wait) {
  ThreadSnapshot made = loop;
  made.stack = wait.task->stack;
  made.wait.call = {.number = SYS_clock_nanosleep};
  made.wait.syscall = "clock_nanosleep";
  auto& frames = made.stack.frames;
  frames.erase(frames.begin(), std::ranges::find_if_not(frames, is_of_sleep));
  return made;
}

std::vector<TaskWait> task_waits(const ProcessSnapshot& of,
                                 const std::vector<AsyncioTask>& all,
                                 const AsyncioTask* from) {
  constexpr std::size_t kMost = 200;
  std::map<Address, const AsyncioTask*> by_address;
  std::vector<const AsyncioTask*> left;
  for (const AsyncioTask& task : all) {
    by_address[task.address] = &task;
    if (from == nullptr) {
      left.push_back(&task);
    }
  }
  if (from != nullptr) {
    left.push_back(from);
  }
  std::vector<TaskWait> waits;
  std::set<const AsyncioTask*> met;
  while (!left.empty() && waits.size() < kMost) {
    const AsyncioTask* const task = left.back();
    left.pop_back();
    if (!met.insert(task).second) {
      continue;
    }
    // It polls by itself, whatever it awaits now.
    if (TaskWait own = wait_of(of, *task); own.polls() && own.loop->timed) {
      waits.push_back(std::move(own));
      continue;
    }
    bool leads_on = false;
    for (const Address next : task->waits_for) {
      if (const auto found = by_address.find(next); found != by_address.end()) {
        left.push_back(found->second);
        leads_on = true;
      }
    }
    if (!leads_on) {
      waits.push_back(wait_of(of, *task));
    }
  }
  std::ranges::sort(waits, {}, [](const TaskWait& one) {
    return std::tuple(one.task->name.size(), one.task->name);
  });
  return waits;
}

}  // namespace hangdbg
