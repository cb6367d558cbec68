// Waits inside the standard library for another thread: a Condition, an Event,
// a queue, a Future. None of these says which thread will end the wait.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/pools.h"
#include "diagnosis/waits/library_waits.h"
#include "diagnosis/waits/sleep_loop.h"
#include "diagnosis/waits/waits_inside.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/signals.h"

namespace hangdbg::causes {
namespace {

// How threading itself begins a thread, and a pool a task: what they call may
// be of the library.
bool begins_work(const PythonFrame& frame) {
  if (frame.file.ends_with("/threading.py")) {
    return frame.function == "run" || frame.function.starts_with("_bootstrap");
  }
  if (frame.file.ends_with("/concurrent/futures/thread.py")) {
    return frame.function == "run" || frame.function == "_worker";
  }
  return frame.file.ends_with("/multiprocessing/pool.py") &&
         (frame.function == "worker" || frame.function.ends_with("mapstar"));
}

// The outermost of the library's frames that are in each other: what the
// program has called.
const PythonFrame* called(const ThreadSnapshot& thread) {
  const PythonFrame* last = nullptr;
  for (const PythonFrame& frame : thread.frames()) {
    if (!is_stdlib_blocking_file(frame.file) ||
        (last != nullptr && begins_work(frame))) {
      break;
    }
    last = &frame;
  }
  return last;
}

// For a Future: the pool's threads, if all of them are busy. Idle threads of
// other kinds (a queue's, a DataLoader's) say nothing about the pool.
std::vector<ThreadId> busy_workers(const ProcessSnapshot& of) {
  std::vector<ThreadId> busy;
  for (const ThreadSnapshot* const one : of.python_threads()) {
    if (runs_task(*one)) {
      busy.push_back(one->id);
      continue;
    }
    const auto loop = worker_loop(*one);
    if (loop &&
        loop->row->file.find("/concurrent/futures/") != std::string::npos) {
      return {};
    }
  }
  return busy;
}

// Whether there are any.
bool find_workers(const ProcessSnapshot& of,
                  const PythonFrame& what,
                  std::optional<Address> self,
                  Cause& cause) {
  const ThreadSnapshot* const runs =
      self ? thread_of_future(of, *self) : nullptr;
  if (runs != nullptr) {
    cause.confidence = Confidence::Likely;
    cause.evidence.push_back(runs->who() + " runs its task");
    cause.blocked_by = {runs->id};
    return true;
  }
  cause.blocked_by = busy_workers(of);
  if (!cause.blocked_by.empty()) {
    cause.confidence = Confidence::Likely;
    cause.evidence.push_back(fmt::format(
        "all {} threads of the pool are at work", cause.blocked_by.size()));
    return true;
  }
  // Of loky, which joblib has a copy of, too.
  PoolWorkers workers =
      pool_workers(of, "_process_worker", "/concurrent/futures/process.py");
  if (workers.busy.empty() && workers.idle == 0) {
    workers = pool_workers(of, "_process_worker", "/loky/process_executor.py");
  }
  if (!workers.busy.empty()) {
    cause.confidence = Confidence::Likely;
    cause.evidence.push_back(
        fmt::format("of {} processes of the pool {} have work",
                    workers.busy.size() + workers.idle, workers.busy.size()));
    cause.blocked_by = workers.busy;
  }
  if (workers.busy.size() + workers.idle > 0) {
    return true;
  }
  const bool of_several = what.function == "wait" ||
                          what.function == "as_completed" ||
                          what.function == "result_iterator";
  if (of_several) {
    cause.blocked_by = threads_at_work(of);
    cause.any_unblocks = what.function == "as_completed";
  }
  if (!cause.blocked_by.empty()) {
    cause.evidence.push_back(
        fmt::format("{} {} of the pool {} at work, and others have none",
                    cause.blocked_by.size(),
                    cause.blocked_by.size() == 1 ? "thread" : "threads",
                    cause.blocked_by.size() == 1 ? "is" : "are"));
  }
  return !cause.blocked_by.empty();
}

// What the object says is missing; "" if it says nothing.
std::string missing(const ProcessSnapshot& of,
                    const PythonFrame& what,
                    std::string_view kind) {
  const auto number = [&](const char* name) {
    return of.number(what, name).value_or(-1);
  };
  if (what.function == "put" && of.number(what, "self.maxsize")) {
    return fmt::format("it may have {} and is full", number("self.maxsize"));
  }
  if (kind == "Barrier") {
    return fmt::format("{} of {} have come", number("self._count"),
                       number("self._parties"));
  }
  if (kind.ends_with("Semaphore")) {
    return fmt::format("its value is {}", number("self._value"));
  }
  if (what.function == "join") {
    return fmt::format("{} tasks of the queue are not done",
                       number("self.unfinished_tasks"));
  }
  return "";
}

// This thread, or one that waits for the same object: neither can end the wait.
bool waits_likewise(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    Address self) {
  const PythonFrame* const what =
      thread.has_timeout() || thread.ran ? nullptr : called(thread);
  return what != nullptr && of.object(*what, "self") == self;
}

// A thread of `threading.Timer` waits for the time.
bool is_timer(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const PythonFrame* const run = thread.find("run", "/threading.py", 4);
  return run != nullptr && of.object(*run, "self.interval").has_value();
}

// A server checks twice a second whether it is to stop, and runs then.
bool is_in_server_loop(const ThreadSnapshot& thread) {
  const auto loop = worker_loop(thread);
  return loop && loop->row->function == "serve_forever";
}

bool is_of_event_loop(const ThreadSnapshot& thread) {
  return thread.find("_run_once", "/asyncio/base_events.py") != nullptr ||
         thread.find("run", "/trio/_core/_run.py") != nullptr;
}

// Other processes can end its wait. An event loop that only its own process
// wakes may wait for the very thread being diagnosed.
bool hears_from_outside(const ProcessSnapshot& of,
                        const ThreadSnapshot& thread) {
  return events(of, thread) &&
         (!is_of_event_loop(thread) ||
          !awaited_from_others(of, awaited_files(of, thread)).empty());
}

// Another thread that serves other processes, while this one waits for the
// order to stop it or for its results.
const ThreadSnapshot* server(const ProcessSnapshot& of,
                             const ThreadSnapshot& but) {
  const auto others = of.python_threads();
  const auto found =
      std::ranges::find_if(others, [&](const ThreadSnapshot* one) {
        return one != &but && !one->frames().empty() &&
               (is_in_server_loop(*one) || hears_from_outside(of, *one));
      });
  return found == others.end() ? nullptr : *found;
}

// "SIGTERM or SIGUSR1": the signals whose handlers may end the wait.
std::string caught_signals(const ProcessSnapshot& of) {
  const auto caught = of.handled_signals();
  std::string names;
  for (const int number : caught) {
    names += fmt::format("{}{}",
                         names.empty()             ? ""
                         : number == caught.back() ? " or "
                                                   : ", ",
                         signal_name(number));
  }
  return names;
}

// The main thread, where Python runs signal handlers, waits for an Event, as
// services do until they are told to end.
bool waits_for_signal(const ProcessSnapshot& of,
                      const ThreadSnapshot& thread,
                      const std::string& kind) {
  return kind == "Event" && thread.id.tid == of.pid && of.handles_signals();
}

// Says so in the summary.
bool is_nobody_left(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    std::optional<Address> self,
                    Cause& cause) {
  const auto others = of.python_threads();
  if (runs_beside(of, thread)) {
    return false;
  }
  if (others.size() == 1) {
    cause.summary += ", and no other thread is here that could end that";
    return true;
  }
  if (std::ranges::all_of(others, [&](const ThreadSnapshot* one) {
        return one == &thread || (self && waits_likewise(of, *one, *self));
      })) {
    cause.summary += ", and all threads that are here wait for the same";
    return true;
  }
  if (!only_wait_for_each_other(of)) {
    return false;
  }
  cause.summary += fmt::format(
      ", and all {} threads that are here wait for each other", others.size());
  constexpr std::size_t kMostTold = 6;
  for (const ThreadSnapshot* const one : others) {
    if (one != &thread && cause.evidence.size() < kMostTold) {
      cause.evidence.push_back(
          fmt::format("{} waits at {}", one->who(), one->place()));
    }
  }
  return true;
}

void tell_nobody_left(const ProcessSnapshot& of, Cause& cause) {
  cause.id = CauseId::NobodyLeft;
  cause.progress = Progress::Stuck;
  cause.confidence = Confidence::Likely;
  if (of.forked_from(of.status.ppid)) {
    cause.evidence.push_back(
        fmt::format("forked from {}, without that one's other threads",
                    process_text(of.status.ppid)));
  }
  if (of.handles_signals()) {
    cause.evidence.push_back(fmt::format(
        "it catches {}: a handler could end that", caught_signals(of)));
  }
}

// ---- queue.SimpleQueue.get(), which waits in C: the frame that calls it is
// the innermost

// "self.frames" of a call of `self.frames.get(timeout)`; "" of another.
std::string_view owner_of_get(std::string_view callee) {
  constexpr std::string_view kGet = ".get";
  return callee.ends_with(kGet) ? callee.substr(0, callee.size() - kGet.size())
                                : std::string_view();
}

bool waits_for_queue(const ProcessSnapshot& of, const PythonFrame& frame) {
  const auto read = of.loops(frame);
  const std::string_view owner =
      read ? owner_of_get(read->call.callee) : std::string_view();
  const auto queue = owner.empty() ? std::nullopt : of.object(frame, owner);
  const auto type =
      queue ? of.objects().type_of(*queue) : std::unexpected(Error());
  return type && (*type)->name.ends_with("SimpleQueue");
}

}  // namespace

Found condition(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() || thread.wait.syscall != "futex" ||
      thread.frames().empty()) {
    return std::nullopt;
  }
  const PythonFrame* const what = called(thread);
  const PythonFrame* const cond = thread.find("wait", "/threading.py", 3);
  if (what == nullptr || cond == nullptr) {
    return std::nullopt;
  }
  const auto self = of.object(*what, "self");
  const auto type =
      self ? of.objects().type_of(*self) : std::unexpected(Error());
  const std::string kind = type           ? printable((*type)->name)
                           : what == cond ? "Condition"
                                          : "";
  Cause cause{.id = CauseId::Condition,
              .progress = Progress::Blocked,
              .confidence = Confidence::Possible};
  cause.summary = fmt::format("waits in {}{}{} for another thread", kind,
                              kind.empty() ? "" : ".", what->function);
  cause.evidence.push_back(thread.place());
  if (thread.has_timeout()) {
    cause.evidence.push_back("it waits for a limited time, and may ask again");
  }
  if (what->file.ends_with("/concurrent/futures/_base.py")) {
    const bool map = what->function == "result_iterator";
    cause.id = CauseId::Future;
    cause.summary = fmt::format("waits for the result of a Future ({})",
                                map ? "map" : what->function);
    if (!find_workers(of, *what, self, cause) && !thread.has_timeout() &&
        !thread.ran && is_nobody_left(of, thread, self, cause)) {
      tell_nobody_left(of, cause);
    }
    return cause;
  }
  if (is_timer(of, thread) || (kind == "Event" && thread.has_timeout())) {
    cause.id = CauseId::Sleeps;
    cause.progress = Progress::Idle;
    cause.confidence = Confidence::Likely;
    cause.summary =
        "sleeps for a fixed time, or until an Event "
        "is set";
    const auto caller =
        static_cast<std::size_t>(what - thread.frames().data()) + 1;
    const auto loop = kind == "Event" ? sleep_loop(of, thread, caller)
                                      : std::optional<SleepLoop>();
    if (loop && !loop->pauses()) {
      tell_loop(of, *loop, cause);
      if (!loop->polls) {
        cause.summary += ", or until an Event is set";
      }
    }
    return cause;
  }
  if (const std::string lacks = missing(of, *what, kind); !lacks.empty()) {
    cause.summary += ": " + lacks;
  }
  const bool for_ever = !thread.has_timeout() && !thread.ran;
  if (for_ever && waits_for_signal(of, thread, kind)) {
    cause.progress = Progress::Idle;
    cause.summary =
        fmt::format("waits for an Event, which a handler of {} could set",
                    caught_signals(of));
    cause.evidence.push_back(fmt::format("it catches {}", caught_signals(of)));
  } else if (for_ever && is_nobody_left(of, thread, self, cause)) {
    tell_nobody_left(of, cause);
  } else if (of.makes_progress(thread)) {
    cause.progress = Progress::Running;
    cause.evidence.push_back("it has gone on meanwhile, and waits again");
  } else if (const ThreadSnapshot* const works =
                 of.other_running_thread(&thread)) {
    cause.progress = Progress::Running;
    cause.evidence.push_back(
        fmt::format("{} is at work, at {}", works->who(), works->place()));
  } else if (const ThreadSnapshot* const serves =
                 kind == "Event" || what->function == "get" ? server(of, thread)
                                                            : nullptr) {
    cause.progress = Progress::Idle;
    cause.evidence.push_back(
        fmt::format("{} waits for input from other processes", serves->who()));
  }
  return cause;
}

Found simple_queue(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() || !thread.sleeps_in("futex") ||
      thread.frames().empty() ||
      !waits_for_queue(of, thread.frames().front())) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::Condition,
              .progress = Progress::Blocked,
              .confidence = Confidence::Possible,
              .summary = "waits in SimpleQueue.get for another thread",
              .evidence = {thread.place()}};
  if (thread.has_timeout()) {
    cause.evidence.push_back("it waits for a limited time, and may ask again");
  } else if (const ThreadSnapshot* const works =
                 of.other_running_thread(&thread)) {
    cause.progress = Progress::Running;
    cause.evidence.push_back(
        fmt::format("{} is at work, at {}", works->who(), works->place()));
  } else if (!thread.ran && of.python_threads().size() == 1 &&
             !runs_beside(of, thread) && !of.handles_signals()) {
    cause.id = CauseId::NobodyLeft;
    cause.progress = Progress::Stuck;
    cause.confidence = Confidence::Likely;
    cause.summary += ", and no other thread is here that could end that";
  }
  return cause;
}

}  // namespace hangdbg::causes
