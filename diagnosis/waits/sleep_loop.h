// The loop in which a thread sleeps between rounds: whether it polls for
// something, or works now and then.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// A call that sleeps for a time, and waits for nothing else.
bool is_timed_sleep(const TaskSyscall& call);
// The same without a time: only a signal ends it.
bool is_sleep_for_ever(const TaskSyscall& call);

struct SleepLoop {
  const PythonFrame* frame = nullptr;  // that has the loop
  // It runs until what it polls, or a variable that it does not set, has the
  // right value, and does no work meanwhile but `around.work`.
  bool polls = false;
  bool certain = false;  // it does nothing else
  bool timed = false;    // its callee waits, for a limited time
  bool tries = false;    // a library's loop, which retries a function
  LoopAround around;
  // What a library's loop retries: "load_shard"; or what it polls, as in the
  // source: "os.path.exists(path)". "" if unknown.
  std::string asks;

  // It only sleeps, as often as a `for` says.
  bool pauses() const { return !polls && around.work.empty(); }
  // Only a variable ends it, no call.
  bool asks_variable() const {
    return !tries && around.conditions.empty() &&
           !(timed && around.asks_itself);
  }
  std::string lines() const;  // "train.py:7-8 in load", safe to print
};

// None: no loop was found. `sleeper` is the index of the frame that has called
// the sleep. Searched are that frame, and its callers while all that they do is
// sleeping.
std::optional<SleepLoop> sleep_loop(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread,
                                    std::size_t sleeper = 0);
// The same for a coroutine's frames.
std::optional<SleepLoop> sleep_loop(const ProcessSnapshot& of,
                                    const std::vector<PythonFrame>& frames,
                                    std::size_t sleeper);

// For a call that waits for a limited time: its result or exception ends the
// loop, too.
std::optional<SleepLoop> timed_wait_loop(const ProcessSnapshot& of,
                                         const std::vector<PythonFrame>& frames,
                                         std::size_t caller);

// Turns that cause into a poll in that loop, or a sleep between rounds of work.
void tell_loop(const ProcessSnapshot& of, const SleepLoop& loop, Cause& cause);

}  // namespace hangdbg
