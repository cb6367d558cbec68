// Every system call that the target makes because of us, in one list: the
// stub's, the bootstrap's, and those of the functions of libc and Python that
// the two call. A seccomp filter in the target may answer some of them with an
// errno or with death, so each is judged before any is made. What an expression
// calls is the user's own affair.
//
// A call that is added to the stub or to the bootstrap is added here. A test
// installs a filter that kills for all that is not in the list
// (tests/integration/systems/test_seccomp.py).
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracee/ptrace/seccomp_filter.h"

namespace hangdbg {

// What we may do in the target. By default, where there is no filter, all.
struct AllowedCalls {
  bool sockets = true;      // else pipes
  bool sched_yield = true;  // else the stub spins without
  bool read_self = true;    // else threads have no kernel ids in the agent
  bool restart = true;      // restart_syscall, as the kernel restarts a call
  bool open = true;         // else none of 0, 1 and 2 may be closed
  bool drop = true;         // else what was read of our pages stays in memory
  bool clock = true;        // else a thread has the CPU's as its parent had it
  bool hold = true;         // a thread of the program's runs our code for long

  bool operator==(const AllowedCalls&) const = default;
};

// What comes of it if the filter does not allow a call.
enum class Need {
  Success,   // we cannot get in
  Survival,  // nothing, as long as it only fails
  Choice,    // we do without: TargetCall::choice is false then
  Thread,    // clone3 and clone, of which one may do; see Libc
};

struct TargetCall {
  struct Argument {
    enum Kind { Any, Descriptor, Exactly } kind = Any;
    std::uint64_t value = 0;
  };

  long number;
  const char* name;
  const char* maker;  // "the stub"
  Need need;
  // What an unfiltered kernel answers when Any is 0 and a descriptor is none:
  // a negative errno, or 0 for success. So the call can be tried.
  int answer;
  std::array<Argument, 6> arguments;
  bool AllowedCalls::*choice;
};

std::span<const TargetCall> target_calls();

// Whose pthread_create it is: from 2.34 on glibc's makes clone3 if that is
// there, the others make clone.
enum class Libc { Glibc, GlibcBefore234, Musl, Unknown };

// Whose functions make them.
struct CallMakers {
  Libc libc = Libc::Unknown;
  bool free_threaded = false;  // Python's own locks call sched_yield
};

// What is to be done: start a thread and all that it does, or only what a
// thread of the program's runs of ours while it is suspended.
enum class CallsFor { OwnThreads, SuspendedThread };

// `verdicts` are on target_calls(), one each. Errors: SeccompForbids, naming
// the call that we cannot do without.
Result<AllowedCalls> judge_calls(std::span<const CallVerdict> verdicts,
                                 CallMakers makers,
                                 CallsFor what = CallsFor::OwnThreads);

// The verdicts of filters that we could read.
std::vector<CallVerdict> judge_filters(std::span<const FilterProgram> filters);

}  // namespace hangdbg
