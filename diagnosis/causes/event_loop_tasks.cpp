// An event loop with timers or descriptors: what its tasks wait for, the main
// task first. The loop's own system call does not tell that.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/event_loop.h"
#include "diagnosis/causes/pools.h"
#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/library_waits.h"
#include "diagnosis/waits/polled_lock.h"
#include "diagnosis/waits/sleep_loop.h"
#include "diagnosis/waits/task_waits.h"
#include "diagnosis/waits/waits_inside.h"

namespace hangdbg {
namespace {

// Other tasks start and end, and may end the wait at any time.
constexpr double kNoTimeTells = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostTold = 4;

std::string runs_loop_whose(const TaskWait& wait) {
  return fmt::format(
      "runs an event loop whose task {} ",
      wait.task->name.empty() ? "?" : printable(wait.task->name));
}

std::string tells_of(const TaskWait& wait) {
  std::string text = task_text(*wait.task);
  if (wait.for_ever) {
    text += " sleeps until it is cancelled";
  } else if (wait.sleeps) {
    text += " sleeps for a time";
  } else if (!wait.awaits.empty()) {
    text += fmt::format(" awaits `{}`", wait.awaits);
  }
  return text;
}

// asyncio.run() is shutting down: it cancels the remaining tasks, and waits.
bool cancels_tasks(const ThreadSnapshot& thread) {
  return thread.find("_cancel_all_tasks", "/asyncio/runners.py") != nullptr;
}

// It also waits for the threads of the loop's pool.
bool ends_pool(const AsyncioTask& task) {
  return std::ranges::any_of(task.stack.frames, [](const PythonFrame& one) {
    return one.function == "shutdown_default_executor";
  });
}

Cause waits_at_end(const ProcessSnapshot& of,
                   const std::vector<TaskWait>& waits) {
  Cause cause{.id = CauseId::ExitJoin,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  if (ends_pool(*waits.front().task)) {
    cause.summary =
        "has come to the end of asyncio.run(), and waits for the threads of "
        "its event loop's pool";
    for (const ThreadSnapshot* const one : of.python_threads()) {
      if (one->find("run", "/concurrent/futures/thread.py") != nullptr) {
        cause.blocked_by.push_back(one->id);
        cause.evidence.push_back(
            fmt::format("{} is at work, at {}", one->who(), one->place()));
      }
    }
    return cause;
  }
  cause.summary = fmt::format(
      "has come to the end of asyncio.run(), and waits for {}, which was "
      "cancelled and has not ended",
      waits.size() == 1 ? task_text(*waits.front().task)
                        : fmt::format("{} tasks", waits.size()));
  for (const TaskWait& one : waits) {
    if (cause.evidence.size() < kMostTold) {
      cause.evidence.push_back(tells_of(one));
    }
  }
  return cause;
}

// A file lock that the task tries to take again and again.
std::optional<Cause> tries_for_lock(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread,
                                    const TaskWait& wait) {
  const ThreadSnapshot sleeper = as_thread(thread, wait);
  auto cause = causes::stale_lock_file(of, sleeper);
  if (!cause) {
    cause = causes::file_lock(of, sleeper);
  }
  if (cause) {
    cause->summary = runs_loop_whose(wait) + cause->summary;
  }
  return cause;
}

// A known function of a library tries, whatever it awaits now: it may try by
// way of a thread.
std::optional<Cause> lock_of_library(const ProcessSnapshot& of,
                                     const ThreadSnapshot& thread,
                                     const std::vector<TaskWait>& waits) {
  const auto tries = std::ranges::find_if(waits, [&](const TaskWait& one) {
    return library_try(of, as_thread(thread, one)).has_value();
  });
  return tries == waits.end() ? std::nullopt
                              : tries_for_lock(of, thread, *tries);
}

Cause polls(const ProcessSnapshot& of, const TaskWait& wait) {
  Cause cause{.id = CauseId::Polls,
              .progress = Progress::Polling,
              .confidence = Confidence::Likely,
              .summary = "",
              .evidence = {task_text(*wait.task)}};
  tell_loop(of, *wait.loop, cause);
  cause.confidence = Confidence::Likely;
  cause.summary = runs_loop_whose(wait) + cause.summary;
  return cause;
}

Cause sleeps(const ProcessSnapshot& of, const TaskWait& wait) {
  Cause cause{.id = CauseId::Sleeps,
              .progress = Progress::Idle,
              .confidence = Confidence::Likely,
              .summary = wait.for_ever ? "sleeps until it is cancelled"
                                       : "sleeps for a fixed time",
              .evidence = {task_text(*wait.task)}};
  if (wait.loop) {
    tell_loop(of, *wait.loop, cause);
  }
  cause.summary = runs_loop_whose(wait) + cause.summary;
  return cause;
}

// How a coroutine runs a function in a thread, and where that thread is
// meanwhile.
struct ThreadBehind {
  std::string_view awaits, awaits_file;
  std::string_view works, works_file;
};
constexpr std::array kThreadsBehind = {
    ThreadBehind{"to_thread_run_sync", "/trio/_threads.py", "_handle_job",
                 "/trio/_core/_thread_cache.py"},
    ThreadBehind{"_execute", "/aiosqlite/core.py", "_connection_worker_thread",
                 "/aiosqlite/core.py"},
    ThreadBehind{"run_sync_in_worker_thread", "/anyio/_backends/_asyncio.py",
                 "run", "/anyio/_backends/_asyncio.py"},
};

// The loop's own thread may have a function of the same name around it.
bool works_for_loop(const ThreadSnapshot& thread,
                    const ThreadSnapshot& loop,
                    const ThreadBehind& by) {
  return thread.id != loop.id && !is_worker_loop(thread) &&
         thread.find(by.works, by.works_file) != nullptr;
}

std::optional<Cause> waits_for_threads(const ProcessSnapshot& of,
                                       const ThreadSnapshot& loop,
                                       const std::vector<TaskWait>& waits) {
  for (const TaskWait& wait : waits) {
    const auto& frames = wait.task->stack.frames;
    for (const ThreadBehind& one : kThreadsBehind) {
      if (std::ranges::none_of(frames, [&](const PythonFrame& frame) {
            return frame.function == one.awaits &&
                   frame.file.ends_with(one.awaits_file);
          })) {
        continue;
      }
      Cause cause{.id = CauseId::Future,
                  .progress = Progress::Blocked,
                  .confidence = Confidence::Likely,
                  .summary = runs_loop_whose(wait) +
                             "waits for what a thread does for it",
                  .evidence = {tells_of(wait)},
                  .any_unblocks = true};
      for (const ThreadSnapshot* const thread : of.python_threads()) {
        if (works_for_loop(*thread, loop, one)) {
          cause.blocked_by.push_back(thread->id);
        }
      }
      if (!cause.blocked_by.empty()) {
        return cause;
      }
    }
  }
  return std::nullopt;
}

// Trio wakes once a day, and asyncio sleeps no longer.
bool has_timer(const ThreadSnapshot& thread) {
  constexpr std::uint64_t kDayMs = 24 * 60 * 60 * 1000;
  return thread.has_time_limit() && !(thread.sleeps_in("epoll_wait") &&
                                      thread.wait.call.args[3] >= kDayMs);
}

// It waits for what another task, a thread, a timer or a peer may bring.
Cause waits_for_future(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       const std::vector<TaskWait>& waits,
                       const std::vector<TaskWait>& others,
                       std::size_t descriptors) {
  const TaskWait& first = waits.front();
  Cause cause{.id = CauseId::Condition,
              .progress = Progress::Blocked,
              .confidence = Confidence::Possible};
  const std::string& future = first.task->future;
  cause.summary =
      runs_loop_whose(first) +
      (!first.awaits.empty() ? fmt::format("awaits `{}`", first.awaits)
       : future.empty()      ? std::string("waits")
                        : fmt::format("waits for a {}", printable(future)));
  if (const PythonFrame* const own = own_frame(*first.task)) {
    cause.summary += " at " + place_of(*own);
  }
  for (const TaskWait& one : waits) {
    if (cause.evidence.size() < kMostTold) {
      cause.evidence.push_back(tells_of(one));
    }
  }
  const auto sleeper = std::ranges::find_if(
      others, [](const TaskWait& one) { return one.sleeps && !one.for_ever; });
  if (sleeper != others.end()) {
    cause.evidence.push_back(tells_of(*sleeper) +
                             ", and may bring it when that is over");
  }
  if (descriptors > 0) {
    cause.evidence.push_back(fmt::format(
        "the loop waits for events on {} {} by which other processes may "
        "bring it",
        descriptors, descriptors == 1 ? "descriptor" : "descriptors"));
  }
  const ThreadSnapshot* const works = of.other_running_thread(&thread);
  if (works != nullptr) {
    cause.blocked_by = {works->id};
    cause.evidence.push_back(
        fmt::format("{} is at work, at {}", works->who(), works->place()));
  }
  if (sleeper != others.end() || descriptors > 0 || works != nullptr ||
      has_timer(thread)) {
    cause.timeout_scale = kNoTimeTells;
  }
  return cause;
}

// `await writer.drain()`: until more of what was written has gone.
bool drains(const TaskWait& wait) {
  return std::ranges::any_of(wait.task->stack.frames,
                             [](const PythonFrame& one) {
                               return one.function == "drain" &&
                                      one.file.ends_with("/asyncio/streams.py");
                             });
}

// The peer, or the child, that does not read what such a task writes.
std::optional<Cause> behind_drain(const ProcessSnapshot& of,
                                  const ThreadSnapshot& thread,
                                  const TaskWait& wait,
                                  std::vector<AwaitedFile> files) {
  std::erase_if(files, [](const AwaitedFile& one) { return !one.to_write; });
  if (!drains(wait) || files.size() != 1) {
    return std::nullopt;
  }
  files.front().to_read = false;
  auto cause = causes::connection_of_loop(of, thread, files.front());
  if (!cause) {
    cause = causes::pipe_of_loop(of, thread, files, std::nullopt);
  }
  // Another task of its own loop may read.
  if (cause && (cause->blocked_by.empty() ||
                std::ranges::find(cause->blocked_by, thread.id) !=
                    cause->blocked_by.end())) {
    return std::nullopt;
  }
  if (cause) {
    cause->summary = runs_loop_whose(wait) + cause->summary;
    cause->evidence.push_back(tells_of(wait));
  }
  return cause;
}

ThreadSnapshot at_task(const ThreadSnapshot& thread, const TaskWait& wait) {
  ThreadSnapshot there = thread;
  there.stack = wait.task->stack;
  return there;
}

// It waits for a stream, or for what is due to a library: it does not serve.
bool waits_for_its_own(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       const TaskWait& wait) {
  const auto& frames = wait.task->stack.frames;
  if (drains(wait) || (!frames.empty() &&
                       frames.front().file.ends_with("/asyncio/streams.py") &&
                       frames.front().function == "_wait_for_data")) {
    return true;
  }
  const ThreadSnapshot there = at_task(thread, wait);
  const auto known = known_wait(of, there);
  return known && !is_idle_by_design(known->row->kind);
}

// What the library's coroutine waits for in which the task is.
void tell_library(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const TaskWait& wait,
                  Cause& cause) {
  const ThreadSnapshot there = at_task(thread, wait);
  const auto known = known_wait(of, there);
  const std::string said = known ? sentence_of(of, *known) : "";
  if (said.empty()) {
    return;
  }
  cause.summary = runs_loop_whose(wait) + said;
  cause.evidence.push_back(fmt::format(
      "{} {} waits for {} in {}", known->row->library, known->row->versions,
      kind_name(known->row->kind), place_of(*known->frame)));
  if (is_idle_by_design(known->row->kind)) {
    cause.id = known->row->kind == WaitKind::Connections ? CauseId::Serves
                                                         : CauseId::Idle;
    cause.progress = Progress::Idle;
    cause.confidence = Confidence::Likely;
  } else if (known->row->kind == WaitKind::Reply) {
    cause.id = CauseId::PeerSilent;
  }
}

}  // namespace

std::optional<Cause> loop_of_tasks(const ProcessSnapshot& of,
                                   const ThreadSnapshot& thread,
                                   const std::vector<AsyncioTask>& all,
                                   const AsyncioTask* main) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  // eventlet sleeps where it has no descriptor.
  if (all.empty() || (!awaited.any && !is_timed_sleep(thread.wait.call))) {
    return std::nullopt;
  }
  const auto foreign = awaited_from_others(of, awaited);
  const auto waits = task_waits(of, all, main);
  const bool listens =
      std::ranges::any_of(foreign, [&](const AwaitedFile& one) {
        return accepts_connections(of, one.file);
      });
  if (listens && (main == nullptr || waits.size() != 1 ||
                  !waits_for_its_own(of, thread, waits.front()))) {
    return std::nullopt;  // a server
  }
  if (waits.empty()) {
    return std::nullopt;
  }
  std::optional<Cause> cause;
  const auto polling = std::ranges::find_if(waits, &TaskWait::polls);
  const auto sleeping = std::ranges::find_if(waits, &TaskWait::sleeps);
  if (cancels_tasks(thread) || ends_pool(*waits.front().task)) {
    cause = waits_at_end(of, waits);
  } else if (auto lock = lock_of_library(of, thread, waits)) {
    cause = lock;
  } else if (polling != waits.end()) {
    cause = tries_for_lock(of, thread, *polling);
    if (!cause) {
      cause = polls(of, *polling);
    }
  } else if (sleeping != waits.end()) {
    cause = sleeps(of, *sleeping);
  } else if (auto child = loop_behind_child(
                 of, main != nullptr ? std::vector{*main} : all)) {
    cause = child;
  } else if (auto pool = loop_behind_pool(of, all);
             pool && !pool->blocked_by.empty()) {
    cause = pool;
  } else if (auto threads = waits_for_threads(of, thread, waits)) {
    cause = threads;
  } else {
    const auto others = task_waits(of, all, nullptr);
    if (auto reader = behind_drain(of, thread, waits.front(), awaited.files)) {
      return reader;
    }
    if (foreign.size() == 1 &&
        std::ranges::none_of(others, &TaskWait::sleeps)) {
      if (auto peer = causes::connection_of_loop(of, thread, foreign.front())) {
        return peer;
      }
    }
    if (std::ranges::none_of(others, &TaskWait::sleeps)) {
      if (auto writer = causes::pipe_of_loop(of, thread, foreign,
                                             ended_child_of_loop(of, all))) {
        return writer;
      }
    }
    cause = waits_for_future(of, thread, waits, others, foreign.size());
    if (foreign.empty() && hears_from_others(of)) {
      cause->timeout_scale = kNoTimeTells;
    }
    tell_library(of, thread, waits.front(), *cause);
  }
  cause->of_tasks = cause->id != CauseId::Condition;
  if (cause->next.empty()) {
    cause->next.push_back({fmt::format("hangdbg dump {} --tasks", of.pid),
                           "where each task waits"});
  }
  return cause;
}

}  // namespace hangdbg
