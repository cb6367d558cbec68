// Where the threads of two processes stand: which is which's, and the frame at
// which they part.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/ranks/dump_file.h"

namespace hangdbg {

struct StackDifference {
  std::string thread;                          // "MainThread"
  std::optional<reports::DumpedFrame> common;  // the innermost that both are in
  // From where they part on, innermost first; empty where that one is itself
  // where it stands. None of a thread that the other side has not.
  std::optional<std::vector<reports::DumpedFrame>> a, b;
};

// Matched by their names; those without one by how they begin. Threads that
// stand at the same place are left out.
std::vector<StackDifference> compare_stacks(const reports::DumpedProcess& a,
                                            const reports::DumpedProcess& b);

}  // namespace hangdbg
