// What went wrong, as a value.
//
// Every recoverable failure in hangdbg is an Error inside a Result<T>. It says
// what happened in one line, which system error was behind it, where in our
// source it was noticed, and - the part that matters at 3 a.m. - the next
// command to type. Its id is stable: scripts and tests name it, and the
// process's exit code follows from it.
#pragma once

#include <source_location>
#include <string>

namespace hangdbg {

// Stable names of failures. Add at will, never rename: they are printed by
// --json and --log, and each maps to one exit code (see exit_code).
enum class ErrorId {
  // Exit 1: the thing asked for failed.
  ExpressionFailed,
  AgentFailed,
  OutputFailed,  // stdout is closed or full
  // Exit 2: wrong usage, or nothing there that we could mean.
  Usage,
  NoSuchProcess,
  NotPython,
  NoSuchRank,  // on this machine
  NoSuchThread,
  NoSuchFrame,
  Zombie,
  // Exit 3: not permitted.
  NotPermitted,
  Yama,
  OtherUser,
  NotDumpable,
  MoreCapable,
  PtraceForbidden,  // by a filter on hangdbg itself
  // Exit 4: cannot be reached this way now, or time is up.
  TracedAlready,
  Stopped,
  Frozen,
  DiskSleep,
  InVfork,
  InExec,
  SeccompUnknown,
  SeccompForbids,
  CallsDispatched,  // by syscall user dispatch
  Emulated,         // by valgrind, QEMU ...
  Instrumented,     // by a sanitizer that keeps accounts of threads
  KernelTooOld,
  NotInitialized,
  Finalizing,
  UnsupportedPython,
  NoSymbols,     // of a Python that is stripped
  OtherVersion,  // of hangdbg, in the target already
  Wrong32Bit,
  KernelThread,
  NoSafeThread,
  NoRoom,
  NoCpu,  // real-time threads have it
  TargetDied,
  GilHeld,
  Busy,  // as many sessions as one target can have
  TimedOut,
  Unreadable,
  ChannelClosed,
  BadMessage,
  NodeFailed,      // another machine gave no answer
  OutOfResources,  // hangdbg has no more descriptors, memory or threads
  System,
  // Exit 130: Ctrl-C.
  Interrupted,
};

// "no-such-process": the name that --json and logs print.
const char* error_name(ErrorId id);

// 0 done, 1 failed, 2 usage, 3 not permitted, 4 not reachable, 130 Ctrl-C.
int exit_code(ErrorId id);

struct Error {
  ErrorId id = ErrorId::System;
  std::string message;  // one line, no full stop at the end
  std::string hint;     // the next thing to type or to know; may be empty
  int errno_value = 0;  // 0 when no system call was behind it
  std::source_location place = std::source_location::current();

  // "message: strerror(errno)", without the hint.
  std::string text() const;
};

}  // namespace hangdbg
