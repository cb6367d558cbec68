// Whether a process hangs, from made-up evidence: each rule alone.
#include "diagnosis/verdict/hang_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "inspector/cpython/runtime/python_processes.h"

namespace hangdbg {
namespace {

using testing::HasSubstr;

constexpr double kHungAfter = 10;

PythonFrame frame(const std::string& file, const std::string& function) {
  return {.function = function, .file = file, .line = 42};
}

Sight sight(long call, std::optional<double> asleep_s) {
  Sight sight;
  sight.at = std::chrono::steady_clock::now();
  sight.wait.state = 'S';
  sight.wait.syscall = syscall_name(call);
  sight.wait.call.number = call;
  sight.wait.call.args[0] = 3;
  sight.wait.asleep_s = asleep_s;
  sight.frames = {frame("/home/ada/train.py", "wait")};
  return sight;
}

Evidence asleep(long call, std::optional<double> asleep_s) {
  return {.sights = {sight(call, asleep_s)}};
}

// Five looks, 50 ms apart, in each of which it has woken `wakes` times more
// and run for `cpu_ms` milliseconds.
Evidence moving(std::uint64_t wakes, double cpu_ms) {
  Evidence evidence;
  for (std::uint64_t i = 0; i < kLooks; ++i) {
    Sight one = sight(SYS_clock_nanosleep, 0.01);
    one.at = evidence.sights.empty()
                 ? one.at
                 : evidence.sights.back().at + std::chrono::milliseconds(50);
    one.wait.runs.times = 100 + i * wakes;
    one.wait.runs.nanoseconds =
        static_cast<std::uint64_t>(static_cast<double>(i) * cpu_ms * 1e6);
    evidence.sights.push_back(one);
  }
  return evidence;
}

bool hangs(const Evidence& evidence) {
  return judge(evidence, kHungAfter).hung;
}

TEST(Judge, AsleepForLong) {
  const Verdict verdict = judge(asleep(SYS_futex, 6720), kHungAfter);
  EXPECT_TRUE(verdict.hung);
  EXPECT_EQ(verdict.state, "asleep");
  EXPECT_EQ(verdict.waits, "futex at train.py:42 in wait");
  EXPECT_EQ(verdict.waiting_s, 6720);
}

TEST(Judge, NotYetAndNobodyKnows) {
  EXPECT_FALSE(hangs(asleep(SYS_futex, 9.9)));
  EXPECT_TRUE(hangs(asleep(SYS_futex, 10)));
  EXPECT_FALSE(hangs(asleep(SYS_futex, {})));
  Evidence unseen = asleep(SYS_futex, 6720);
  unseen.sights[0].frames.clear();
  EXPECT_FALSE(hangs(unseen));
}

TEST(Judge, WhatIdleProgramsWaitFor) {
  for (const long call :
       {SYS_epoll_wait, SYS_accept4, SYS_wait4, SYS_clock_nanosleep, SYS_pause,
        SYS_restart_syscall}) {
    EXPECT_FALSE(hangs(asleep(call, 6720))) << syscall_name(call);
  }
  Evidence select = asleep(SYS_pselect6, 6720);
  EXPECT_TRUE(hangs(select));
  for (const std::uint64_t descriptors :
       {0, 1}) {  // time.sleep; standard input
    select.sights[0].wait.call.args[0] = descriptors;
    EXPECT_FALSE(hangs(select)) << descriptors;
  }
  Evidence read = asleep(SYS_read, 6720);
  read.file = "pipe:[1234]";
  EXPECT_TRUE(hangs(read));
  EXPECT_THAT(judge(read, kHungAfter).waits, HasSubstr("read of pipe:[1234]"));
  read.file = "/dev/pts/3";
  EXPECT_FALSE(hangs(read));
  read.file = "pipe:[1234]";
  read.sights[0].wait.call.args[0] = 0;
  EXPECT_FALSE(hangs(read)) << "standard input";
}

TEST(Judge, WhoIsAskedByFrames) {
  Evidence child = asleep(SYS_poll, 6720);
  child.sights[0].frames.insert(
      child.sights[0].frames.begin(),
      frame("/usr/lib/python3.11/subprocess.py", "communicate"));
  const Verdict verdict = judge(child, kHungAfter);
  EXPECT_FALSE(verdict.hung);
  EXPECT_EQ(verdict.waits,
            "poll at subprocess.py:42 in communicate, from train.py:42 in "
            "wait");

  Evidence worker = asleep(SYS_futex, 6720);
  worker.sights[0].frames[0] =
      frame("/usr/lib/python3.11/multiprocessing/queues.py", "get");
  EXPECT_TRUE(hangs(worker));
  worker.child_of_python = true;
  EXPECT_FALSE(hangs(worker)) << "its parent may have no work for it";
}

TEST(Judge, WhoCallsForADebugger) {
  const std::string package = "/venv/site-packages/hangdbg/__init__.py";
  Evidence evidence = asleep(SYS_futex, 60);
  evidence.sights[0].frames = {frame(package, "_call_for_one"),
                               frame(package, "_wait"),
                               frame("/home/ada/train.py", "train")};
  const Verdict verdict = judge(evidence, kHungAfter);
  EXPECT_EQ(verdict.waits, "a debugger at train.py:42 in train");
  EXPECT_TRUE(verdict.hung);
  evidence.sights[0].frames.resize(2);
  EXPECT_EQ(judge(evidence, kHungAfter).waits, "a debugger");
}

TEST(Judge, AMainThatWaitsForOthers) {
  Evidence join = asleep(SYS_futex, 6720);
  join.sights[0].frames[0] = frame("/usr/lib/python3.11/threading.py", "join");
  EXPECT_TRUE(hangs(join)) << "nobody is there to wait for";
  join.others_still_s = 6720;
  EXPECT_TRUE(hangs(join)) << "they stand still as well";
  join.others_still_s = 0.5;
  EXPECT_FALSE(hangs(join)) << "they work";
  join.others_still_s = {};
  join.others_serve = true;
  EXPECT_FALSE(hangs(join)) << "one serves";
}

TEST(Judge, ALoop) {
  Evidence baton = moving(1, 0.05);
  const Verdict verdict = judge(baton, kHungAfter);
  EXPECT_TRUE(verdict.hung);
  EXPECT_EQ(verdict.state, "loops");
  EXPECT_FALSE(verdict.waiting_s);
  EXPECT_EQ(verdict.waits,
            "clock_nanosleep at train.py:42 in wait: same line in 5 of 5 "
            "looks, cpu 0 %");
  baton.has_children = true;
  EXPECT_FALSE(hangs(baton)) << "a launcher that polls its workers";
}

TEST(Judge, NoLoop) {
  EXPECT_FALSE(hangs(moving(0, 0))) << "asleep, for how long is not seen";
  EXPECT_EQ(judge(moving(0, 0), kHungAfter).state, "asleep");
  const Verdict busy = judge(moving(1, 49), kHungAfter);
  EXPECT_FALSE(busy.hung) << "it computes";
  EXPECT_EQ(busy.state, "runs");
  EXPECT_THAT(busy.waits, HasSubstr("cpu 98 %"));
  Evidence elsewhere = moving(1, 0.05);
  elsewhere.sights[2].frames[0].line = 43;
  EXPECT_FALSE(hangs(elsewhere));
  EXPECT_EQ(judge(elsewhere, kHungAfter).waits,
            "nothing: 2 places in 5 looks, cpu 0 %");
  Evidence serves = moving(1, 0.05);
  for (Sight& one : serves.sights) {
    one.wait.call.number = SYS_epoll_wait;
  }
  EXPECT_FALSE(hangs(serves)) << "an event loop with a timer";
  for (Sight& one : serves.sights) {
    one.wait.call.number = SYS_pselect6;
  }
  EXPECT_FALSE(hangs(serves)) << "a server with a timeout";
  for (Sight& one : serves.sights) {
    one.wait.call.args[0] = 0;
  }
  EXPECT_TRUE(hangs(serves)) << "time.sleep";
  Evidence polls = moving(1, 0.05);
  for (Sight& one : polls.sights) {
    one.frames[0] = frame("/usr/lib/python3.11/threading.py", "wait");
  }
  EXPECT_TRUE(hangs(polls));
  polls.others_still_s = 0.1;
  EXPECT_FALSE(hangs(polls)) << "for threads that work";
  Evidence few = moving(1, 0.05);
  few.sights.pop_back();
  EXPECT_FALSE(hangs(few));
}

TEST(Judge, TicksWhereTheKernelCountsNothingElse) {
  Evidence busy = moving(1, 0);
  for (std::size_t i = 0; i < kLooks; ++i) {
    busy.sights[i].wait.runs.nanoseconds = 0;
    busy.sights[i].wait.cpu_ticks = 5 * i;
  }
  EXPECT_EQ(judge(busy, kHungAfter).state, "runs");
}

TEST(Judge, TheGilIsHeldByAnother) {
  Evidence waits = moving(10, 0.05);
  for (Sight& one : waits.sights) {
    one.gil_holder = 77;
  }
  const Verdict verdict = judge(waits, kHungAfter);
  EXPECT_FALSE(verdict.hung) << "the holder may compute";
  EXPECT_THAT(verdict.waits, HasSubstr("the GIL, which thread 77 has"));
  waits.sights[1].gil_holder = {};
  EXPECT_EQ(judge(waits, kHungAfter).state, "loops");
}

TEST(Judge, OtherStates) {
  const auto in_state = [](char state) {
    Evidence evidence = asleep(SYS_futex, 6720);
    evidence.sights[0].wait.state = state;
    return judge(evidence, kHungAfter);
  };
  EXPECT_EQ(in_state('T').state, "stopped");
  EXPECT_FALSE(in_state('T').hung);
  EXPECT_EQ(in_state('t').state, "traced");
  EXPECT_EQ(in_state('Z').state, "ended");
  EXPECT_EQ(in_state('D').state, "disk");
  EXPECT_TRUE(in_state('D').hung);
}

TEST(PythonName, IsOne) {
  for (const char* name : {"python", "/usr/bin/python3", "python3.13t",
                           "-python3", "/opt/python3.8 (deleted)"}) {
    EXPECT_TRUE(is_python_name(name)) << name;
  }
  for (const char* name : {"", "bash", "/usr/lib/python3.11/x", "pythonista",
                           "/usr/bin/ipython", "python-config"}) {
    EXPECT_FALSE(is_python_name(name)) << name;
  }
}

}  // namespace
}  // namespace hangdbg
