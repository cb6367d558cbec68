// What one rank of a job knows of torch.distributed: its process groups, and in
// which of that package's functions its threads are. Read out of process;
// nothing in it is stopped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/jobs/torch/collective_calls.h"
#include "inspector/jobs/torch/process_groups.h"

namespace hangdbg {

struct DistThread {
  std::optional<int> tid;
  std::string name;
  std::string state;  // "asleep in futex for 3 min 2 s"
  std::optional<double> waiting_s;
  std::optional<CollectiveCall> call;
  std::vector<PythonFrame> frames;  // innermost first
};

struct DistSnapshot {
  int pid = 0;
  std::string python;  // "3.11.7"
  ProcessGroups groups;
  std::optional<Error> why_no_groups;
  std::vector<DistThread> threads;  // main first, then those in a call
};

// May wait for as long as the process is in D state. Errors: those of
// dump_process.
Result<DistSnapshot> read_dist(const Target& target);

}  // namespace hangdbg
