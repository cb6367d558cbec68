// A thread that sleeps for a time: once, between rounds of its work, or between
// two looks at what it waits for. Which of them, its bytecode says.
#include <fmt/core.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/sleep_loop.h"
#include "tracee/syscalls/syscall_text.h"

namespace hangdbg::causes {
namespace {

// "33 ms more"; "" where the kernel does not tell.
std::string time_left(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  for (const std::string& argument :
       syscall_arguments(of.pid, of.memory(), thread.wait.call)) {
    if (argument.ends_with(" more")) {
      return argument;
    }
  }
  return "";
}

}  // namespace

Found sleep(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!is_timed_sleep(thread.wait.call)) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::Sleeps,
              .progress = Progress::Idle,
              .confidence = Confidence::Certain,
              .summary = "sleeps for a fixed time",
              .evidence = {thread.place()}};
  if (const auto loop = sleep_loop(of, thread)) {
    tell_loop(of, *loop, cause);
  }
  if (const std::string left = time_left(of, thread); !left.empty()) {
    cause.evidence.push_back("this sleep lasts " + left);
  }
  return cause;
}

}  // namespace hangdbg::causes
