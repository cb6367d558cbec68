// The call of NCCL that a thread is in, of those that may wait for other ranks.
#pragma once

#include <optional>
#include <string>

#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/snapshot/merged_stack.h"

namespace hangdbg {

struct NcclCall {
  std::string function;  // "ncclCommInitRank"
  bool begins = false;   // it makes a communicator
  StackEntry entry;
};

// The outermost: what the program, or torch, has called.
std::optional<NcclCall> nccl_call(const ProcessSnapshot& of,
                                  const ThreadSnapshot& thread);

}  // namespace hangdbg
