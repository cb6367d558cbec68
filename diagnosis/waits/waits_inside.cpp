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

}  // namespace

bool waits_inside(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
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
