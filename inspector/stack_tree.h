// Many stacks as one tree: where all agree there is one branch, and who does
// something else stands out (the idea is STAT's: stack traces of a parallel
// program as a prefix tree with sets of processes).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspector/process_dump.h"

namespace hangdbg {

struct StackNode {
  std::string function;  // qualified; with its module, if it is a C function
  std::string file;      // "" for a C function
  int line = 0;
  std::map<int, int> threads;       // how many of each process (pid)
  std::vector<StackNode> children;  // what was called: most processes first

  bool is_same(const StackNode& other) const {
    return function == other.function && file == other.file &&
           line == other.line;
  }
};

// A group of processes whose main thread is elsewhere than most are.
struct OddOnes {
  std::vector<int> pids;
  StackNode here;   // their innermost frame (no threads, no children)
  StackNode there;  // and the others'
};

struct StackTree {
  StackNode root;  // of no frame; all threads are its own
  std::vector<OddOnes> odd;
};

StackTree merge_dumps(const std::vector<ProcessDump>& dumps);

}  // namespace hangdbg
