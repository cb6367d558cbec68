// Processes for tests to inspect: children that end with the test, pipes for
// their answers, and waits for what the kernel shows of them.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <type_traits>

#include "base/deadline.h"
#include "base/fd.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

// What a healthy machine does at once, and a busy one within this limit.
inline Deadline patience() {
  return Deadline::in(std::chrono::seconds(60));
}

// A fork of this process that runs `work` and ends.
class Child {
 public:
  template <class Work>
  explicit Child(const Work& work) {
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() == parent) {
        work();
      }
      ::_exit(0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  pid_t pid() const { return pid_; }

  // Kills and reaps it, unless that has been done already.
  void end() {
    siginfo_t info{};
    if (pid_ < 0 || ::waitid(P_PID, static_cast<id_t>(pid_), &info,
                             WEXITED | WNOHANG | WNOWAIT) != 0) {
      return;
    }
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, __WALL) == pid_ && WIFSTOPPED(status)) {
    }
  }

 private:
  pid_t pid_ = -1;
};

// A number without a process: its last one has just ended.
inline int dead_pid() {
  Child child([] {});
  child.end();
  return child.pid();
}

struct Pipe {
  Fd read;
  Fd write;

  Pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      read = Fd(ends[0]);
      write = Fd(ends[1]);
    }
  }
};

template <class T>
void send(const Fd& to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (::write(to.get(), &value, sizeof value) != sizeof value) {
    ::_exit(1);
  }
}

// Empty: nothing came in time, or the other side has closed.
template <class T>
std::optional<T> receive(const Fd& from, Deadline deadline = patience()) {
  static_assert(std::is_trivially_copyable_v<T>);
  pollfd one{from.get(), POLLIN, 0};
  T value{};
  if (::poll(&one, 1, deadline.left_ms()) != 1 ||
      ::read(from.get(), &value, sizeof value) != sizeof value) {
    return {};
  }
  return value;
}

// Waits until the thread sleeps in that call. There is no event for it.
inline bool sleeps_in(int pid, int tid, const std::string& call) {
  for (const auto deadline = patience(); !deadline.expired();) {
    const auto now = read_task_syscall(pid, tid);
    if (now && !now->running && syscall_name(now->number) == call) {
      return true;
    }
    ::usleep(1000);
  }
  return false;
}

}  // namespace hangdbg
