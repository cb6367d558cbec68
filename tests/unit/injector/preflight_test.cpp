#include "injector/checks/preflight.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "tests/unit/support/processes.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

// The error of check_reachable, which must fail.
Error refusal(int pid) {
  const auto reachable = check_reachable(pid);
  return reachable ? Error{ErrorId::System, "it is reachable"}
                   : reachable.error();
}

TEST(CheckReachable, ASleepingProcess) {
  const Child child([] { ::pause(); });
  const auto reachable = check_reachable(child.pid());
  EXPECT_TRUE(reachable) << reachable.error().text();
}

TEST(CheckReachable, AStoppedOneSaysHowToGoOn) {
  const Child child([] { ::raise(SIGSTOP); });
  int raw = 0;
  ASSERT_EQ(::waitpid(child.pid(), &raw, WUNTRACED), child.pid());
  ASSERT_TRUE(WIFSTOPPED(raw));
  const auto error = refusal(child.pid());
  EXPECT_EQ(error.id, ErrorId::Stopped) << error.text();
  EXPECT_NE(error.hint.find("kill -CONT " + std::to_string(child.pid())),
            std::string::npos)
      << error.hint;
}

TEST(CheckReachable, AZombie) {
  const Child child([] {});
  siginfo_t info{};
  ASSERT_EQ(
      ::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT),
      0);
  const auto error = refusal(child.pid());
  EXPECT_EQ(error.id, ErrorId::Zombie) << error.text();
  EXPECT_NE(error.message.find(std::to_string(::getpid())), std::string::npos)
      << error.message;
}

TEST(CheckReachable, Nobody) {
  EXPECT_EQ(refusal(dead_pid()).id, ErrorId::NoSuchProcess);
}

TEST(CheckReachable, AThreadIsToldFromItsProcess) {
  std::latch done(1);
  Pipe pipe;
  std::thread thread([&] {
    send(pipe.write, ::gettid());
    done.wait();
  });
  const auto tid = receive<int>(pipe.read);
  const auto error = refusal(tid.value_or(-1));
  done.count_down();
  thread.join();
  ASSERT_TRUE(tid);
  EXPECT_EQ(error.id, ErrorId::NoSuchProcess) << error.text();
  EXPECT_NE(error.hint.find(std::to_string(::getpid()) + " --thread " +
                            std::to_string(*tid)),
            std::string::npos)
      << error.hint;
}

TEST(CheckReachable, ATracedOneNamesItsTracer) {
  const Child child([] { ::pause(); });
  const auto thread = TracedThread::seize(child.pid());
  ASSERT_TRUE(thread) << thread.error().text();
  const auto error = refusal(child.pid());
  EXPECT_EQ(error.id, ErrorId::TracedAlready) << error.text();
  EXPECT_NE(error.message.find(std::to_string(::getpid())), std::string::npos)
      << error.message;
}

TEST(CheckReachable, AKernelThread) {
  // PID 2 is the parent of all kernel threads, where it is visible.
  const auto stat = read_status(2);
  if (!stat || stat->name != "kthreadd") {
    GTEST_SKIP() << "no kernel threads are visible in this PID namespace";
  }
  EXPECT_EQ(refusal(2).id, ErrorId::KernelThread);
}

TEST(Preflight, AnotherProgramIsNotPython) {
  const Child child([] { ::pause(); });
  const auto target = preflight(child.pid());
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().id, ErrorId::NotPython) << target.error().text();
  EXPECT_NE(target.error().message.find(std::to_string(child.pid())),
            std::string::npos)
      << target.error().message;
  EXPECT_NE(target.error().hint, "");
}

}  // namespace
}  // namespace hangdbg
