// The names and exit codes of failures: one table, read by both functions.
#include "base/error.h"

#include <array>
#include <cstring>

namespace hangdbg {
namespace {

struct Row {
  ErrorId id;
  const char* name;
  int exit_code;
};

constexpr std::array kRows = {
    Row{ErrorId::ExpressionFailed, "expression-failed", 1},
    Row{ErrorId::AgentFailed, "agent-failed", 1},
    Row{ErrorId::OutputFailed, "output-failed", 1},
    Row{ErrorId::Usage, "usage", 2},
    Row{ErrorId::NoSuchProcess, "no-such-process", 2},
    Row{ErrorId::NotPython, "not-python", 2},
    Row{ErrorId::NoSuchRank, "no-such-rank", 2},
    Row{ErrorId::NoSuchThread, "no-such-thread", 2},
    Row{ErrorId::NoSuchFrame, "no-such-frame", 2},
    Row{ErrorId::NotPermitted, "not-permitted", 3},
    Row{ErrorId::Yama, "yama", 3},
    Row{ErrorId::OtherUser, "other-user", 3},
    Row{ErrorId::NotDumpable, "not-dumpable", 3},
    Row{ErrorId::MoreCapable, "more-capable", 3},
    Row{ErrorId::PtraceForbidden, "ptrace-forbidden", 3},
    Row{ErrorId::TracedAlready, "traced-already", 4},
    Row{ErrorId::Stopped, "stopped", 4},
    Row{ErrorId::Frozen, "frozen", 4},
    Row{ErrorId::Zombie, "zombie", 2},
    Row{ErrorId::DiskSleep, "disk-sleep", 4},
    Row{ErrorId::InVfork, "in-vfork", 4},
    Row{ErrorId::InExec, "in-exec", 4},
    Row{ErrorId::SeccompUnknown, "seccomp-unknown", 4},
    Row{ErrorId::SeccompForbids, "seccomp-forbids", 4},
    Row{ErrorId::CallsDispatched, "calls-dispatched", 4},
    Row{ErrorId::Emulated, "emulated", 4},
    Row{ErrorId::Instrumented, "instrumented", 4},
    Row{ErrorId::KernelTooOld, "kernel-too-old", 4},
    Row{ErrorId::NotInitialized, "not-initialized", 4},
    Row{ErrorId::Finalizing, "finalizing", 4},
    Row{ErrorId::UnsupportedPython, "unsupported-python", 4},
    Row{ErrorId::NoSymbols, "no-symbols", 4},
    Row{ErrorId::OtherVersion, "other-version", 4},
    Row{ErrorId::Wrong32Bit, "32-bit", 4},
    Row{ErrorId::KernelThread, "kernel-thread", 4},
    Row{ErrorId::NoSafeThread, "no-safe-thread", 4},
    Row{ErrorId::NoRoom, "no-room", 4},
    Row{ErrorId::NoCpu, "no-cpu", 4},
    Row{ErrorId::TargetDied, "target-died", 4},
    Row{ErrorId::GilHeld, "gil-held", 4},
    Row{ErrorId::Busy, "busy", 4},
    Row{ErrorId::TimedOut, "timed-out", 4},
    Row{ErrorId::Unreadable, "unreadable", 4},
    Row{ErrorId::ChannelClosed, "channel-closed", 4},
    Row{ErrorId::BadMessage, "bad-message", 4},
    Row{ErrorId::NodeFailed, "node-failed", 4},
    Row{ErrorId::OutOfResources, "out-of-resources", 4},
    Row{ErrorId::System, "system", 4},
    Row{ErrorId::Interrupted, "interrupted", 130},
};

const Row& row(ErrorId id) {
  for (const Row& candidate : kRows) {
    if (candidate.id == id) {
      return candidate;
    }
  }
  return kRows.back();
}

}  // namespace

const char* error_name(ErrorId id) {
  return row(id).name;
}

int exit_code(ErrorId id) {
  return row(id).exit_code;
}

std::string Error::text() const {
  if (errno_value == 0) {
    return message;
  }
  return message + ": " + std::strerror(errno_value);
}

}  // namespace hangdbg
