// In which function of torch.distributed a thread is, and with what: told by
// its frames and their variables, read out of process.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "inspector/cpython/objects/arrays.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/jobs/torch/process_groups.h"

namespace hangdbg {

struct CollectiveCall {
  std::string function;  // that the program has called: "all_gather_object"
  std::string inner;     // where that has come to, if that is another
  std::optional<std::size_t> caller;  // the program's frame, in the stack
  std::string group;                  // its name; "" if that is not known
  std::string operation;              // "sum"; of reductions
  std::optional<std::int64_t> peer;   // of a send, a broadcast: the other rank
  std::optional<ArrayShape> tensor;   // the first that it was given
};

// None, if the thread is in none. A frame that has returned meanwhile leaves
// out what it would have told.
std::optional<CollectiveCall> read_collective_call(const ObjectReader& objects,
                                                   const PythonStack& stack,
                                                   const ProcessGroups& groups);

// "all_reduce of group 0 (sum, float32 (4,))"
std::string call_words(const CollectiveCall& call);

}  // namespace hangdbg
