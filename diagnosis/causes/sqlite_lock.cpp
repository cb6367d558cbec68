// A lock on a database of SQLite: its busy handler tries again and again, in C
// code, and sleeps between.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/deadline.h"
#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/sleep_loop.h"
#include "diagnosis/waits/sqlite_locks.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

constexpr auto kToRead = std::chrono::milliseconds(250);
constexpr auto kBetweenTries = std::chrono::milliseconds(3);

// The function of its C code that is on the stack; "" if there is none, or that
// cannot be read.
std::string function_of_sqlite(const ProcessSnapshot& of,
                               const ThreadSnapshot& thread) {
  auto functions = of.native(thread);
  // It was just at one of its tries, and nothing could be read.
  for (const Deadline deadline = Deadline::in(kToRead);
       functions.empty() && !deadline.expired();) {
    std::this_thread::sleep_for(kBetweenTries);
    functions = of.native(thread);
  }
  const auto found = std::ranges::find_if(
      functions, [](const std::string& one) { return one.contains("sqlite"); });
  return found == functions.end() ? "" : *found;
}

}  // namespace

Found sqlite_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!of.is_python() || !thread.python || !is_timed_sleep(thread.wait.call)) {
    return std::nullopt;
  }
  const auto locked = locked_database(of);
  if (!locked) {
    return std::nullopt;
  }
  const std::string function = function_of_sqlite(of, thread);
  if (function.empty()) {
    return std::nullopt;
  }
  const std::string who = locked->own
                              ? "another connection of its own"
                              : process_text(locked->holders.front().pid);
  Cause cause{
      .id = CauseId::FileLock,
      .progress = Progress::Blocked,
      .confidence = Confidence::Certain,
      .summary = fmt::format("waits for SQLite's lock on {}, held by {}",
                             printable(locked->path), who),
      .blocked_by = locked->holders};
  cause.evidence.push_back(
      fmt::format("sleeps in SQLite, {}, at {}", function, thread.place()));
  cause.evidence.push_back(
      fmt::format("/proc/locks: {} holds SQLite's {}",
                  locked->own ? "this process itself" : who, locked->name()));
  if (!locked->holders.empty()) {
    cause.blocks_others = true;
    cause.next.push_back(
        {fmt::format("hangdbg diagnose {}", locked->holders.front().pid),
         "why that one does not end its transaction"});
  }
  return cause;
}

}  // namespace hangdbg::causes
