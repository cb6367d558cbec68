// The greenlets of a process, gevent's among them: where each left off.
//
// No thread's stack has a suspended one. All of them are found among the
// objects that the garbage collector knows. docs/decisions/0036 says how.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/cpython/stacks/target.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct Greenlet {
  Address address;
  std::string type;        // the name of its class
  std::string name;        // its own; else of the function that it runs
  std::string state;       // "suspended", "runs", "not begun", "dead"
  bool main = false;       // its thread's first: what runs outside of others
  std::optional<int> tid;  // its thread, where that could be told
  Address parent;          // one of these: resumes when it ends
  PythonStack stack;       // of one that is suspended
};

struct Greenlets {
  std::vector<Greenlet> greenlets;  // by thread, main first, then by name
  std::string missing;              // why these are not all; empty if they are
  std::chrono::nanoseconds longest_stop{};
};

// None, where nothing has imported greenlet. A thread that runs is stopped for
// each of its suspended ones, if it may be.
Greenlets read_greenlets(const Target& target,
                         const ObjectReader& objects,
                         PythonStackReader& stacks,
                         const std::vector<PythonThread>& threads,
                         bool may_stop);

}  // namespace hangdbg
