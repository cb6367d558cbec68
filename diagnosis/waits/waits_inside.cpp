#include "diagnosis/waits/waits_inside.h"

#include <algorithm>

#include "diagnosis/waits/awaited_files.h"
#include "diagnosis/waits/awaited_python_lock.h"
#include "diagnosis/waits/library_waits.h"

namespace hangdbg {
namespace {

// Threads of concurrent.futures wait in C for their queue, which submitters
// fill.
bool is_pool_thread_at_rest(const ThreadSnapshot& thread) {
  const auto loop = worker_loop(thread);
  return loop && loop->frame == &thread.frames().front() &&
         loop->frame->file.ends_with("/concurrent/futures/thread.py");
}

// From 3.13 on join() waits in C, without a lock to recognise it by.
bool joins_thread(const ThreadSnapshot& thread) {
  return thread.find("join", "/threading.py", 1) != nullptr ||
         thread.find("_shutdown", "/threading.py", 1) != nullptr;
}

// An event loop of asyncio without a timer, which watches nothing that other
// processes can write to: its tasks wait for each other, or for threads.
bool is_loop_for_itself(const ProcessSnapshot& of,
                        const ThreadSnapshot& thread) {
  if (thread.ran || thread.frames().empty() ||
      !thread.frames().front().file.ends_with("/selectors.py") ||
      thread.find("_run_once", "/asyncio/base_events.py") == nullptr) {
    return false;
  }
  const AwaitedFiles awaited = awaited_files(of, thread);
  return awaited.any && !awaited.with_time && awaited.files.size() == 1 &&
         awaited_from_others(of, awaited).empty();
}

}  // namespace

bool waits_inside(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (is_loop_for_itself(of, thread)) {
    return true;
  }
  if (!thread.sleeps_in("futex") || thread.has_timeout() || thread.ran ||
      thread.frames().empty()) {
    return false;
  }
  return thread.find("wait", "/threading.py", 1) != nullptr ||
         joins_thread(thread) || is_pool_thread_at_rest(thread) ||
         awaited_python_lock(of, thread);
}

bool hears_from_others(const ProcessSnapshot& of) {
  return std::ranges::any_of(of.threads, [&](const ThreadSnapshot& one) {
    return !one.python &&
           !awaited_from_others(of, awaited_files(of, one)).empty();
  });
}

bool only_wait_for_each_other(const ProcessSnapshot& of) {
  const auto threads = of.python_threads();
  return threads.size() > 1 &&
         std::ranges::all_of(threads,
                             [&](const ThreadSnapshot* one) {
                               return waits_inside(of, *one);
                             }) &&
         !hears_from_others(of);
}

bool runs_beside(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  return std::ranges::any_of(of.threads, [&](const ThreadSnapshot& one) {
    return one.id != thread.id && one.wait.state == 'R';
  });
}

}  // namespace hangdbg
