// TaskIds: the kernel's threads of a process, by the number that the process
// itself knows them by.
//
// What is written in a target's memory (native_thread_id, struct pthread's
// tid) is a number of the target's own PID namespace, and may be stale after
// a fork. /proc/PID/task gives ours. This translates, and rejects a number
// that belongs to no thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/result.h"

namespace hangdbg {

class TaskIds {
 public:
  // Errors: NoSuchProcess, System.
  static Result<TaskIds> read(int pid);

  // For tests and core files: threads whose numbers need no translation.
  explicit TaskIds(const std::vector<int>& tids);

  // Our number of the thread that the target calls `inner`, and back.
  std::optional<int> outer(std::uint64_t inner) const;
  std::optional<std::uint64_t> inner(int outer) const;

  std::size_t size() const { return outer_by_inner_.size(); }

 private:
  TaskIds() = default;
  std::map<std::uint64_t, int> outer_by_inner_;
};

}  // namespace hangdbg
