// The threads of two processes compared: the pairs, and the frame at which they
// diverge.
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
  // From where they diverge, innermost first; empty where that is the innermost
  // frame itself. None of a thread that the other side lacks.
  std::optional<std::vector<reports::DumpedFrame>> a, b;
};

// Matched by their names; those without one by how they begin. Threads that are
// at the same place are left out.
std::vector<StackDifference> compare_stacks(const reports::DumpedProcess& a,
                                            const reports::DumpedProcess& b);

}  // namespace hangdbg
