// A thread that sleeps for a time: once, between rounds of its work, or between
// two polls; its bytecode tells which. Also one that waits with a time limit,
// and then tries again, as in `while not done: queue.get(timeout=1)`: that is a
// poll, too.
#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/pools.h"
#include "diagnosis/waits/sleep_loop.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "tracee/syscalls/syscall_text.h"

namespace hangdbg::causes {
namespace {

// "33 ms more"; "" where the kernel does not tell.
std::string time_left(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  for (const std::string& argument :
       syscall_arguments(of.pid, of.memory(), thread.wait.call)) {
    if (argument.ends_with(" more")) {
      // Once it has gone on, other things are where the time was.
      return has_gone_on(thread) ? "" : argument;
    }
  }
  return "";
}

// ---- waits with a time limit

constexpr double kLongestRound = 60;  // seconds: a longer limit is a plain wait

// In these causes, the wait does not name the object that is awaited.
bool may_be_asked_for(const Cause& cause) {
  constexpr std::array kIds = {
      CauseId::Condition, CauseId::Future,     CauseId::Idle,
      CauseId::PipeRead,  CauseId::PeerSilent, CauseId::SharedWait,
      CauseId::Unknown,
  };
  if (cause.of_tasks || cause.progress == Progress::Running ||
      cause.progress == Progress::Stuck) {
    return false;
  }
  const bool unowned_lock =
      cause.id == CauseId::PythonLock && cause.blocked_by.empty();
  return unowned_lock || std::ranges::find(kIds, cause.id) != kIds.end();
}

// Whether it is one of the library's functions in which a program waits.
bool is_of_wait(const PythonFrame& frame) {
  constexpr std::array<std::string_view, 4> kFiles = {
      "/multiprocessing/connection.py", "/multiprocessing/managers.py",
      "/multiprocessing/queues.py", "/multiprocessing/synchronize.py"};
  return is_stdlib_blocking_file(frame.file) ||
         std::ranges::any_of(kFiles, [&](std::string_view file) {
           return frame.file.ends_with(file);
         });
}

// The program's own frame that has called it; none for a library's frame, as a
// library's loops are not judged here.
std::optional<std::size_t> caller_of_wait(const ThreadSnapshot& thread) {
  const auto& frames = thread.frames();
  const auto found = std::ranges::find_if_not(frames, is_of_wait);
  return found == frames.end() || is_library(found->file)
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - frames.begin()));
}

// Of poll(2) and epoll_wait(2); 0 where it is not known.
double limit_of_poll(const ThreadSnapshot& thread) {
  const TaskSyscall& call = thread.wait.call;
  const bool polls = call.number == SYS_poll;
  if (!polls && call.number != SYS_epoll_wait &&
      call.number != SYS_epoll_pwait) {
    return 0;
  }
  return static_cast<std::int32_t>(call.args[polls ? 2 : 3]) / 1000.0;
}

bool waits_long(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const double left = of.wakes_in_s(thread).value_or(limit_of_poll(thread));
  return std::max(left, thread.wait.asleep_s.value_or(0)) > kLongestRound;
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
    if (loop->pauses()) {
      cause.timeout_scale = 0;  // one sleep does not tell how long it rests
    }
  }
  if (const std::string left = time_left(of, thread); !left.empty()) {
    cause.evidence.push_back("this sleep lasts " + left);
  }
  return cause;
}

void refine_by_loop(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    Cause& cause) {
  if (!of.is_python() || !thread.has_time_limit() ||
      is_timed_sleep(thread.wait.call) || !may_be_asked_for(cause)) {
    return;
  }
  const auto caller = caller_of_wait(thread);
  const auto loop = caller && !waits_long(of, thread)
                        ? timed_wait_loop(of, thread.frames(), *caller)
                        : std::nullopt;
  if (!loop || !loop->polls) {
    return;
  }
  cause.id = CauseId::Polls;
  if (cause.blocked_by.empty()) {
    cause.next = {{fmt::format("hangdbg dump {} --locals=2", of.pid),
                   "what it looks for"}};
  }
  cause.progress = Progress::Polling;
  cause.confidence = Confidence::Likely;
  cause.may_give_up = !loop->certain;
  cause.summary = fmt::format(
      "polls {}at {}, and {}",
      loop->asks.empty() ? "" : fmt::format("`{}` ", printable(loop->asks)),
      loop->lines(), cause.summary);
  cause.evidence.push_back(
      fmt::format("the loop at {} calls it again and again, with a time limit",
                  loop->lines()));
}

}  // namespace hangdbg::causes
