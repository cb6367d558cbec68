#include "tracee/proc/proc_tasks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {

Result<std::vector<int>> list_tasks(int pid) {
  const Folder folder = TRY(open_proc_folder(pid, "task"));
  std::vector<int> tids;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (const int tid = std::atoi(entry->d_name); tid > 0) {
      tids.push_back(tid);
    }
  }
  std::ranges::sort(tids, [pid](int a, int b) {
    return std::pair(a != pid, a) < std::pair(b != pid, b);
  });
  return tids;
}

Result<TaskSyscall> read_task_syscall(int pid, int tid) {
  return parse_task_syscall(
      TRY(read_proc_record(pid, fmt::format("task/{}/syscall", tid))));
}

TaskSyscall parse_task_syscall(const std::string& text) {
  TaskSyscall call;
  if (text.starts_with("running")) {
    call.running = true;
    return call;
  }
  // "202 0x7f.. 0x189 0x0 0x0 0x0 0xffffffff SP PC", or "-1 SP PC".
  char* at = nullptr;
  call.number = std::strtol(text.c_str(), &at, 10);
  const auto next = [&at] {
    return static_cast<std::uint64_t>(std::strtoull(at, &at, 16));
  };
  if (call.number >= 0) {
    for (std::uint64_t& arg : call.args) {
      arg = next();
    }
  }
  call.sp.value = next();
  call.pc.value = next();
  return call;
}

Result<TaskStat> read_task_stat(int pid, int tid) {
  const std::string text =
      TRY(read_proc_record(pid, fmt::format("task/{}/stat", tid)));
  // The name is in parentheses and may itself hold parentheses and spaces.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) {
    return fail(ErrorId::Unreadable,
                fmt::format("/proc/{}/task/{}/stat makes no sense", pid, tid));
  }
  TaskStat stat;
  stat.comm = text.substr(open + 1, close - open - 1);
  unsigned long long utime = 0;
  unsigned long long stime = 0;
  unsigned long long start = 0;
  std::sscanf(text.c_str() + close + 1,
              " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu"
              " %*d %*d %*d %d %*d %*d %llu %*u %*d %*u %*u %*u %*u %*u %*u"
              " %*u %*u %*u %*u %*u %*u %*u %*d %d %u %u"
              " %*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %d",
              &stat.state, &stat.flags, &utime, &stime, &stat.nice, &start,
              &stat.cpu, &stat.priority, &stat.policy, &stat.exit_code);
  stat.cpu_ticks = utime + stime;
  stat.system_ticks = stime;
  stat.start_ticks = start;
  return stat;
}

Result<std::string> read_task_wchan(int pid, int tid) {
  const std::string name =
      TRY(read_proc_record(pid, fmt::format("task/{}/wchan", tid)));
  return name == "0" ? std::string() : std::string(trim(name));
}

std::optional<SchedStats> parse_schedstat(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < 3) {
    return {};
  }
  const auto ran = parse_number<std::uint64_t>(words[0]);
  const auto times = parse_number<std::uint64_t>(words[2]);
  return ran && times && *times > 0 ? std::optional(SchedStats{*times, *ran})
                                    : std::nullopt;
}

Result<SchedStats> read_task_runs(int pid, int tid) {
  if (const auto text =
          read_proc_record(pid, fmt::format("task/{}/schedstat", tid))) {
    if (const auto runs = parse_schedstat(*text)) {
      return *runs;
    }
  }
  const auto status = TRY(read_task_status(pid, tid));
  return SchedStats{status.voluntary_switches + status.involuntary_switches, 0};
}

}  // namespace hangdbg
