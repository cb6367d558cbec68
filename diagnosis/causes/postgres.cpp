// A server process of PostgreSQL that serves one client: its title says what it
// is at, and that it waits for a lock of the database (src/backend/utils/misc/
// ps_status.c): "postgres: ada shop 127.0.0.1(41234) UPDATE waiting".
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

constexpr std::string_view kTitle = "postgres: ";
constexpr std::string_view kWaiting = " waiting";
constexpr std::string_view kInTransaction = " idle in transaction";

std::string_view title_of(const ProcessSnapshot& of) {
  std::string_view title =
      of.command_line.empty() ? std::string_view() : of.command_line.front();
  const auto end = title.find_last_not_of(' ');
  title = title.substr(0, end == title.npos ? 0 : end + 1);
  return title.starts_with(kTitle) ? title.substr(kTitle.size())
                                   : std::string_view();
}

bool is_in_transaction(std::string_view title) {
  return title.contains(kInTransaction);
}

// "UPDATE" of "ada shop 127.0.0.1(41234) UPDATE waiting".
std::string command_of(std::string_view title) {
  title.remove_suffix(kWaiting.size());
  const auto space = title.find(") ");
  const auto local = title.find("[local] ");
  const std::string_view rest = space != title.npos   ? title.substr(space + 2)
                                : local != title.npos ? title.substr(local + 8)
                                                      : title;
  return printable(std::string(rest));
}

struct Others {
  std::vector<ThreadId> at_rest;  // idle in a transaction
  std::vector<ThreadId> waiting;
};

// Of the same server.
Others others_of(const ProcessSnapshot& of) {
  constexpr int kMost = 256;
  Others found;
  int seen = 0;
  const auto [begin, end] = of.system.children().equal_range(of.status.ppid);
  for (auto at = begin; at != end && ++seen <= kMost; ++at) {
    const ProcessSnapshot* const one =
        at->second == of.pid ? nullptr : of.system.snapshot(at->second);
    const std::string_view title = one != nullptr ? title_of(*one) : "";
    if (is_in_transaction(title)) {
      found.at_rest.push_back({at->second, at->second});
    } else if (title.ends_with(kWaiting)) {
      found.waiting.push_back({at->second, at->second});
    }
  }
  return found;
}

Cause waits_for_lock(const ProcessSnapshot& of,
                     const ThreadSnapshot& thread,
                     std::string_view title) {
  Cause cause{.id = CauseId::Condition,
              .progress = Progress::Blocked,
              .confidence = Confidence::Possible,
              .summary = fmt::format("waits for a lock of its database, to {}",
                                     command_of(title)),
              .evidence = {fmt::format("its title is \"{}{}\"", kTitle,
                                       printable(std::string(title))),
                           fmt::format("in {}", thread.wait.syscall)}};
  const Others others = others_of(of);
  for (const ThreadId one : others.at_rest) {
    cause.evidence.push_back(fmt::format(
        "{} is idle in a transaction, whose locks it has until that ends",
        process_text(one.pid)));
  }
  if (others.at_rest.size() == 1) {
    cause.blocked_by = others.at_rest;
    cause.blocks_others = true;
    cause.confidence = Confidence::Likely;
    cause.summary += fmt::format(
        ", which {} may have: it is idle in a "
        "transaction",
        process_text(others.at_rest.front().pid));
  }
  cause.next.push_back(
      {"psql -c 'select pid, pg_blocking_pids(pid), query from "
       "pg_stat_activity'",
       "who has the lock"});
  return cause;
}

}  // namespace

Found postgres(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const std::string_view title = title_of(of);
  if (title.empty() || of.is_python() || thread.id.tid != of.pid) {
    return std::nullopt;
  }
  if (title.ends_with(kWaiting)) {
    return waits_for_lock(of, thread, title);
  }
  if (!is_in_transaction(title)) {
    return std::nullopt;
  }
  // Beside its client's connection it watches its parent, and a latch.
  for (const AwaitedFile& one : awaited_files(of, thread).files) {
    if (auto cause = connection_of_loop(of, thread, one)) {
      cause->summary = "is idle in a transaction, and " + cause->summary;
      return cause;
    }
  }
  return std::nullopt;
}

}  // namespace hangdbg::causes
