// Whether a thread returns from the C function that it is in. A thread that
// polls runs all the time, and only time tells a hang from a wait that is about
// to end.
//
// The CPU counts how often the thread executes the function's return address.
// Where that is not permitted, samples are compared: the callers of the
// function, and the local variables of the thread's Python functions.
#pragma once

#include <optional>
#include <string>

#include "diagnosis/snapshot/cause.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/snapshot/merged_stack.h"

namespace hangdbg {

struct CallWatch {
  bool came_back = false;
  bool certain = false;            // it was counted, or its own sleep tells
  std::optional<Watched> watched;  // empty: its own sleep tells, or no watch
  std::string told;                // what was seen
};

// `call`: one of of.native_calls(thread). Takes SystemSnapshot::hung_after_s,
// at least 1 s and at most 10 s, or as long as the deadline permits; less if
// the thread comes back.
CallWatch watch_call(const ProcessSnapshot& of,
                     const ThreadSnapshot& thread,
                     const StackEntry& call);

// For a thread that did not return.
void say_watched(const CallWatch& watch, Cause& cause);

}  // namespace hangdbg
