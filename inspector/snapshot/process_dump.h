// What all threads of a process do, read out of process: the data behind
// `hangdbg dump`. No code runs in the process; a thread that runs is stopped
// for some tens of microseconds, unless that is forbidden.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/async/asyncio_tasks.h"
#include "inspector/cpython/async/greenlets.h"
#include "inspector/cpython/objects/repr.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/ranks/rank_identity.h"
#include "inspector/snapshot/merged_stack.h"

namespace hangdbg {

struct DumpOptions {
  bool may_stop = true;
  std::optional<ReprLimits> locals;  // how they are shown, if they are
  bool native = false;               // C functions too
  bool native_all = false;           // and threads that run no Python
  bool tasks = false;                // asyncio's, that wait; and greenlets
  bool names = true;                 // those that threading gave the threads
  std::size_t most_frames = PythonStackReader::kMostFrames;
};

struct DumpedCall {
  std::string name;
  std::vector<std::string> arguments;
};

struct DumpedVariable {
  std::string name;
  std::string type;
  std::string text;  // as repr() would print it
};

struct DumpedThread {
  std::optional<int> tid;  // empty if it could not be told
  std::uint64_t ident = 0;
  std::int64_t interpreter = 0;  // 0 is the main one
  std::string name;
  std::string state;  // "asleep in futex for 3 min 2 s", "running"
  std::optional<DumpedCall> call;
  std::optional<double> waiting_s;  // empty when it does not, or unknown
  bool has_gil = false;
  bool collects_garbage = false;
  std::chrono::nanoseconds stopped{};       // by us
  std::optional<DumpedVariable> exception;  // that it handles
  PythonStack stack;
  std::optional<MergedStack> merged;  // with its C functions, if asked for
  // Of each frame; none of one that has returned since.
  std::vector<std::vector<DumpedVariable>> locals;
  bool locals_exact = false;  // they are from the moment that the stack is from
  std::optional<Error> error;  // why there is no stack

  // Those of `merged`, or of the Python stack where there is none.
  std::vector<StackEntry> entries() const;
};

struct DumpedGil {
  bool locked = false;
  std::optional<int> holder;  // a thread; empty if it could not be told
};

// How a process ended that has left a core file.
struct DumpedEnd {
  std::string signal;              // "SIGSEGV"
  int tid = 0;                     // its receiver
  std::optional<Address> address;  // of the fault, where it is one
  std::optional<int> sender;       // a process, where one has sent it
};

struct ProcessDump {
  int pid = 0;
  std::optional<RankOfProcess> rank;  // for its reader to fill in
  std::string python;                 // "3.11.7"
  bool free_threaded = false;
  std::string note;  // of a version that is not known: what to trust; else ""
  std::vector<std::string> command_line;
  std::optional<double> age_s;        // of a live one
  std::optional<DumpedGil> gil;       // the main interpreter's, if there is one
  std::vector<DumpedThread> threads;  // main first, then by number
  std::optional<AsyncioTasks> tasks;  // if they were asked for
  std::optional<Greenlets> greenlets;  // with the tasks
  std::chrono::nanoseconds longest_stop{};
  std::optional<DumpedEnd> end;
};

// May wait for as long as the process is in D state. A thread that cannot be
// read has an `error`, and costs the others nothing. Errors: NotInitialized,
// Unreadable, NoSuchProcess, with the process named.
Result<ProcessDump> dump_process(const Target& target,
                                 const DumpOptions& options);

// That thread alone. Errors: NoSuchThread, if it runs no Python and not all are
// asked for; the others.
Result<DumpedThread> dump_thread(const Target& target,
                                 int tid,
                                 const DumpOptions& options);

}  // namespace hangdbg
