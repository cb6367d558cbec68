#include "injector/checks/new_threads.h"

#include <fmt/core.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

std::unexpected<Error> starts_none(int pid, int tid, const std::string& why) {
  return fail(ErrorId::NoSafeThread,
              fmt::format("thread {}: {}, and so the kernel lets it start no "
                          "other thread",
                          tid, why),
              fmt::format("hangdbg dump {0} and hangdbg peek {0} read it out "
                          "of process",
                          pid));
}

// SCHED_DEADLINE, which is not inherited (sched(7)), unless what it starts is
// of the usual class.
bool is_of_deadline_class(int tid) {
  // struct sched_attr (sched_setattr(2)); libc has none.
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::array<std::uint64_t, 6> others;
  } attributes{};
  return ::syscall(SYS_sched_getattr, tid, &attributes, sizeof attributes, 0) ==
             0 &&
         attributes.policy == SCHED_DEADLINE &&
         (attributes.flags & SCHED_FLAG_RESET_ON_FORK) == 0;
}

// Threads of a process are in one PID namespace (clone(2)). One that is for
// children, and has none yet, is no link that can be read.
bool has_children_elsewhere(int pid, int tid) {
  constexpr const char* kForChildren = "ns/pid_for_children";
  const std::string task = fmt::format("task/{}/", tid);
  const auto own = read_proc_link(pid, task + "ns/pid");
  const auto childrens = read_proc_link(pid, task + kForChildren);
  if (own && childrens) {
    return *own != *childrens;
  }
  // Kernels before 4.12 have no such link.
  return own && read_proc_link(::getpid(), kForChildren);
}

}  // namespace

Status check_starts_threads(int pid, int tid) {
  if (is_of_deadline_class(tid)) {
    return starts_none(pid, tid, "it is of the class SCHED_DEADLINE");
  }
  if (has_children_elsewhere(pid, tid)) {
    return starts_none(pid, tid,
                       "its children are for another PID namespace "
                       "(unshare(CLONE_NEWPID))");
  }
  return {};
}

}  // namespace hangdbg
