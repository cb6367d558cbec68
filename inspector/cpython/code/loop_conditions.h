// The loops around a call that a frame is in: what decides whether they
// continue, and what else they call.
//
// A condition is found by the flow of the bytecode: of a jump in the loop one
// way leads out of it and the other does not, or a call that raises is tried
// again. What the condition calls, also by way of a variable, is told by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/code/code_object.h"
#include "inspector/cpython/code/expressions.h"

namespace hangdbg {

struct LoopAround {
  int first_line = 0;
  int last_line = 0;
  // Whose results decide whether the loop ends; not clocks.
  std::vector<CallText> conditions = {};
  // That decide it, and are not set in the loop: "self.done".
  std::vector<std::string> variables = {};
  // The call that the frame is in is of a function, or with arguments, that
  // each round sets anew.
  bool sets_callee = false, sets_arguments = false;
  bool asks_itself = false;  // the call that the frame is in decides it, too
  bool asks_clock = false;   // so does the time
  bool has_way_out = false;  // but for what is raised, and the end of a `for`
  // What else is called in each round; not what prints or logs, nor builtins
  // such as len().
  std::vector<CallText> work = {};
};

// What a frame's code says of where the frame is.
struct FrameLoops {
  CallText call;                  // that the frame is in, or awaits
  std::vector<LoopAround> loops;  // the innermost first
  // What the function calls beside, in a loop or not.
  std::vector<CallText> other_calls;
};

// `offset`: of the frame's instruction (PythonFrame). Errors: those of
// read_code_object.
Result<FrameLoops> read_frame_loops(const ObjectReader& objects,
                                    Address code,
                                    std::int64_t offset);
FrameLoops frame_loops(const CodeObject& code, std::int64_t offset);

}  // namespace hangdbg
