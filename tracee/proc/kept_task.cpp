#include "tracee/proc/kept_task.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>
#include <utility>

#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// Half of what a process may usually have: 1024.
constexpr int kMostKept = 512;
std::atomic<int> kept = 0;

Fd open_task_file(int pid, int tid, const char* name) {
  return Fd(::open(fmt::format("/proc/{}/task/{}/{}", pid, tid, name).c_str(),
                   O_RDONLY | O_CLOEXEC));
}

// What the file says now, in `room`; empty if the thread has ended.
std::string_view read_again(const Fd& file, std::array<char, 256>& room) {
  const auto size = ::pread(file.get(), room.data(), room.size(), 0);
  return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

KeptTask::KeptTask(int pid, int tid) : pid_(pid), tid_(tid) {
  if ((kept += 2) <= kMostKept) {
    schedstat_ = open_task_file(pid, tid, "schedstat");
    syscall_ = open_task_file(pid, tid, "syscall");
  }
  if (!schedstat_ || !syscall_) {
    kept -= 2;
    schedstat_.reset();
    syscall_.reset();
  }
}

KeptTask::KeptTask(KeptTask&& other) noexcept
    : pid_(other.pid_),
      tid_(other.tid_),
      schedstat_(std::move(other.schedstat_)),
      syscall_(std::move(other.syscall_)) {}

KeptTask::~KeptTask() {
  if (schedstat_) {
    kept -= 2;
  }
}

Result<SchedStats> KeptTask::runs() const {
  if (schedstat_) {
    std::array<char, 256> room;
    if (const auto runs = parse_schedstat(read_again(schedstat_, room))) {
      return *runs;
    }
  }
  return read_task_runs(pid_, tid_);
}

Result<TaskSyscall> KeptTask::call() const {
  if (syscall_) {
    std::array<char, 256> room;
    if (const auto text = read_again(syscall_, room); !text.empty()) {
      return parse_task_syscall(std::string(text));
    }
  }
  return read_task_syscall(pid_, tid_);
}

}  // namespace hangdbg
