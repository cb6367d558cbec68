// Whether a thread comes back from the C function that it is in: one that looks
// again and again whether its wait is over runs all the while, and only time
// tells it from one that is well.
//
// Counted by the CPU, at the instruction that the function returns to. Where
// that cannot be, what the thread's Python functions have must not change.
#pragma once

#include <optional>
#include <string>

#include "inspector/diagnosis/case.h"
#include "inspector/merged_stack.h"

namespace hangdbg {

struct CallWatch {
  bool came_back = false;
  bool certain = false;  // it was counted, or its own sleep tells
  double watched_s = 0;  // 0: its own sleep tells
  std::string told;      // what was seen
};

// `call`: one of of.native_calls(thread). Watches for World::hung_after_s, from
// 1 to 10 s, or as long as the deadline lets it: less if it comes back.
CallWatch watch_call(const Case& of,
                     const CaseThread& thread,
                     const StackEntry& call);

// Of one that did not come back: how long it was watched, and how sure that is.
void say_watched(const CallWatch& watch, Cause& cause);

}  // namespace hangdbg
