#include "tracee/proc/task_ids.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

// Whether the process counts its threads as we do. When it cannot be told, the
// numbers are translated one by one.
bool same_namespace(int pid) {
  static const auto ours =
      read_proc_link(static_cast<int>(::getpid()), "ns/pid");
  const auto theirs = read_proc_link(pid, "ns/pid");
  return theirs && ours && *theirs == *ours;
}

// The last number of the NSpid line: the thread's in its innermost namespace.
std::optional<std::uint64_t> inner_tid(int pid, int tid) {
  const auto status = read_proc_file(pid, fmt::format("task/{}/status", tid));
  if (!status) {
    return {};
  }
  const std::string_view text = *status;
  const auto at = text.find("\nNSpid:");
  if (at == text.npos) {
    return {};
  }
  const auto line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  const auto word = line.substr(line.find_last_of("\t ") + 1);
  std::uint64_t number = 0;
  const auto parsed =
      std::from_chars(word.data(), word.data() + word.size(), number);
  return parsed.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<TaskIds> TaskIds::read(int pid) {
  const auto tids = TRY(list_tasks(pid));
  if (same_namespace(pid)) {
    return TaskIds(tids);
  }
  TaskIds ids;
  for (const int tid : tids) {
    if (const auto inner = inner_tid(pid, tid)) {
      ids.outer_by_inner_[*inner] = tid;
    }
  }
  return ids;
}

TaskIds::TaskIds(const std::vector<int>& tids) {
  for (const int tid : tids) {
    outer_by_inner_[static_cast<std::uint64_t>(tid)] = tid;
  }
}

std::optional<int> TaskIds::outer(std::uint64_t inner) const {
  const auto found = outer_by_inner_.find(inner);
  return found == outer_by_inner_.end() ? std::nullopt
                                        : std::optional(found->second);
}

std::optional<std::uint64_t> TaskIds::inner(int outer) const {
  const auto found = std::ranges::find(
      outer_by_inner_, outer, &std::pair<const std::uint64_t, int>::second);
  return found == outer_by_inner_.end() ? std::nullopt
                                        : std::optional(found->first);
}

}  // namespace hangdbg
