// What a process's thread does, from made-up samples: each rule alone.
#include "diagnosis/survey/activity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "inspector/cpython/runtime/python_processes.h"

namespace hangdbg {
namespace {

using testing::HasSubstr;

PythonFrame frame(const std::string& file, const std::string& function) {
  return {.function = function, .file = file, .line = 42};
}

Sample sample(long call, std::optional<double> asleep_s) {
  Sample sample;
  sample.at = std::chrono::steady_clock::now();
  sample.wait.state = 'S';
  sample.wait.syscall = syscall_name(call);
  sample.wait.call.number = call;
  sample.wait.call.args[0] = 3;
  sample.wait.asleep_s = asleep_s;
  sample.frames = {frame("/home/ada/train.py", "wait")};
  return sample;
}

Observed asleep(long call, std::optional<double> asleep_s) {
  return {.samples = {sample(call, asleep_s)}};
}

// Five samples, 50 ms apart, in each of which it has woken `wakes` times more
// and run for `cpu_ms` milliseconds.
Observed moving(std::uint64_t wakes, double cpu_ms) {
  Observed observed;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    Sample one = sample(SYS_clock_nanosleep, 0.01);
    one.at = observed.samples.empty()
                 ? one.at
                 : observed.samples.back().at + std::chrono::milliseconds(50);
    one.wait.runs.times = 100 + i * wakes;
    one.wait.runs.nanoseconds =
        static_cast<std::uint64_t>(static_cast<double>(i) * cpu_ms * 1e6);
    observed.samples.push_back(one);
  }
  return observed;
}

TEST(Activity, AsleepForLong) {
  const Activity activity = activity_of(asleep(SYS_futex, 6720));
  EXPECT_EQ(activity.state, "asleep");
  EXPECT_EQ(activity.waits, "futex at train.py:42 in wait");
  EXPECT_EQ(activity.waiting_s, 6720);
}

TEST(Activity, NobodyKnowsSinceWhen) {
  EXPECT_FALSE(activity_of(asleep(SYS_futex, {})).waiting_s);
}

TEST(Activity, WhatTheDescriptorLeadsTo) {
  Observed read = asleep(SYS_read, 6720);
  read.file = "pipe:[1234]";
  EXPECT_THAT(activity_of(read).waits, HasSubstr("read of pipe:[1234]"));
}

TEST(Activity, WhoIsAskedByFrames) {
  Observed child = asleep(SYS_poll, 6720);
  child.samples[0].frames.insert(
      child.samples[0].frames.begin(),
      frame("/usr/lib/python3.11/subprocess.py", "communicate"));
  EXPECT_EQ(activity_of(child).waits,
            "poll at subprocess.py:42 in communicate, from train.py:42 in "
            "wait");
}

TEST(Activity, WhoCallsForADebugger) {
  const std::string package = "/venv/site-packages/hangdbg/__init__.py";
  Observed observed = asleep(SYS_futex, 60);
  observed.samples[0].frames = {frame(package, "_call_for_one"),
                                frame(package, "_wait"),
                                frame("/home/ada/train.py", "train")};
  EXPECT_EQ(activity_of(observed).waits, "a debugger at train.py:42 in train");
  observed.samples[0].frames.resize(2);
  EXPECT_EQ(activity_of(observed).waits, "a debugger");
}

TEST(Activity, ALoop) {
  const Activity activity = activity_of(moving(1, 0.05));
  EXPECT_EQ(activity.state, "loops");
  EXPECT_FALSE(activity.waiting_s);
  EXPECT_EQ(activity.waits,
            "clock_nanosleep at train.py:42 in wait: same line in 5 of 5 "
            "looks, cpu 0 %");
}

TEST(Activity, NoLoop) {
  EXPECT_EQ(activity_of(moving(0, 0)).state, "asleep")
      << "for how long is not seen";
  const Activity busy = activity_of(moving(1, 49));
  EXPECT_EQ(busy.state, "runs");
  EXPECT_TRUE(busy.one_line);
  EXPECT_THAT(busy.waits, HasSubstr("cpu 98 %"));
  Observed elsewhere = moving(1, 0.05);
  elsewhere.samples[2].frames[0].line = 43;
  EXPECT_EQ(activity_of(elsewhere).waits,
            "nothing: 2 places in 5 looks, cpu 0 %");
  Observed few = moving(1, 0.05);
  few.samples.pop_back();
  EXPECT_EQ(activity_of(few).state, "runs");
}

TEST(Activity, TicksWhereTheKernelCountsNothingElse) {
  Observed busy = moving(1, 0);
  for (std::size_t i = 0; i < kSamples; ++i) {
    busy.samples[i].wait.runs.nanoseconds = 0;
    busy.samples[i].wait.cpu_ticks = 5 * i;
  }
  EXPECT_EQ(activity_of(busy).state, "runs");
}

TEST(Activity, TheGilIsHeldByAnother) {
  Observed waits = moving(10, 0.05);
  for (Sample& one : waits.samples) {
    one.gil_holder = 77;
  }
  EXPECT_THAT(activity_of(waits).waits,
              HasSubstr("the GIL, held by thread 77"));
  waits.samples[1].gil_holder = {};
  EXPECT_EQ(activity_of(waits).state, "loops");
}

TEST(Activity, OtherStates) {
  const auto in_state = [](char state) {
    Observed observed = asleep(SYS_futex, 6720);
    observed.samples[0].wait.state = state;
    return activity_of(observed).state;
  };
  EXPECT_EQ(in_state('T'), "stopped");
  EXPECT_EQ(in_state('t'), "traced");
  EXPECT_EQ(in_state('Z'), "ended");
  EXPECT_EQ(in_state('D'), "disk");
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
