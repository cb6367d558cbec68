// The loop in which a thread sleeps between rounds: whether it waits for
// something by asking again and again, or works now and then.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// A call that sleeps for a time, and waits for nothing else.
bool is_timed_sleep(const TaskSyscall& call);

struct SleepLoop {
  const PythonFrame* frame = nullptr;  // whose loop it is
  // It goes on until what it asks for, or a variable that it does not set, is
  // as wanted, and does not work meanwhile but for `around.work`.
  bool polls = false;
  bool certain = false;  // it does nothing else
  bool timed = false;    // what it calls waits for it, for a limited time
  bool tries = false;    // a library's loop, which tries a function again
  LoopAround around;
  // What it tries again, where a library's loop does so: "load_shard"; or what
  // it asks, as in the source: "os.path.exists(path)". "" if that is not known.
  std::string asks;

  // All that it does is sleeping, as often as a `for` says.
  bool pauses() const { return !polls && around.work.empty(); }
  // Nothing that it calls, but a variable, ends it.
  bool asks_variable() const {
    return !tries && around.conditions.empty() &&
           !(timed && around.asks_itself);
  }
  std::string lines() const;  // "train.py:7-8 in load", safe to print
};

// None: the thread is in no loop as far as can be told. `sleeper` is the number
// of the frame that has called what sleeps. Looked at are its frame, and those
// that it came from while all that they do is sleeping.
std::optional<SleepLoop> sleep_loop(const ProcessSnapshot& of,
                                    const ThreadSnapshot& thread,
                                    std::size_t sleeper = 0);
// The same of a coroutine's frames.
std::optional<SleepLoop> sleep_loop(const ProcessSnapshot& of,
                                    const std::vector<PythonFrame>& frames,
                                    std::size_t sleeper);

// Of a call that waits for something, for a limited time: it ends the loop,
// too, by what it returns or raises.
std::optional<SleepLoop> timed_wait_loop(const ProcessSnapshot& of,
                                         const std::vector<PythonFrame>& frames,
                                         std::size_t caller);

// Makes that cause one of a thread that polls there, or that sleeps between
// rounds of work.
void tell_loop(const ProcessSnapshot& of, const SleepLoop& loop, Cause& cause);

}  // namespace hangdbg
