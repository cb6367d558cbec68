#include "tracee/ptrace/wait_status.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

// As waitpid(2) makes them: the signal above 0x7f, a ptrace event above that.
WaitStatus stop(int signal, int event = 0) {
  return WaitStatus(event << 16 | signal << 8 | 0x7f);
}

void expect(WaitStatus status,
            bool dead,
            bool interrupted,
            bool group_stop,
            int signal) {
  EXPECT_EQ(status.dead(), dead) << std::hex << status.raw();
  EXPECT_EQ(status.interrupted(), interrupted) << std::hex << status.raw();
  EXPECT_EQ(status.group_stop(), group_stop) << std::hex << status.raw();
  EXPECT_EQ(status.signal(), signal) << std::hex << status.raw();
}

TEST(WaitStatus, ExactlyOneMeaning) {
  expect(WaitStatus(W_EXITCODE(0, 0)), true, false, false, 0);
  expect(WaitStatus(W_EXITCODE(3, 0)), true, false, false, 0);
  expect(WaitStatus(W_EXITCODE(0, SIGKILL)), true, false, false, 0);
  expect(WaitStatus(W_EXITCODE(0, SIGSEGV) | WCOREFLAG), true, false, false, 0);
  expect(stop(SIGTRAP, PTRACE_EVENT_STOP), false, true, false, 0);
  expect(stop(SIGSTOP, PTRACE_EVENT_STOP), false, false, true, 0);
  expect(stop(SIGTTIN, PTRACE_EVENT_STOP), false, false, true, 0);
  expect(stop(SIGUSR1), false, false, false, SIGUSR1);
  expect(stop(SIGTRAP), false, false, false, SIGTRAP);
  expect(stop(SIGSTOP), false, false, false, SIGSTOP);
  expect(stop(SIGRTMAX), false, false, false, SIGRTMAX);
  expect(stop(SIGTRAP, PTRACE_EVENT_EXEC), false, false, false, 0);
  expect(WaitStatus(__W_CONTINUED), false, false, false, 0);
}

TEST(WaitStatus, OfARealEnd) {
  const Child child([] { ::_exit(3); });
  int raw = 0;
  ASSERT_EQ(::waitpid(child.pid(), &raw, 0), child.pid());
  expect(WaitStatus(raw), true, false, false, 0);
}

}  // namespace
}  // namespace hangdbg
