// Stacks of running threads, on real interpreters: each must be a possible one
// of the program, and the thread must hardly be delayed.
#include "inspector/cpython/stacks/thread_sample.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

// Each leaf has one caller, which calls it from one line; so has each caller.
constexpr const char* kHotLoop = R"py(
import time
def leaf_a(n):
    x = 0
    for i in range(n):
        x += i
    return x
def leaf_b(n):
    x = 0
    for i in range(n):
        x ^= i
    return x
def calls_a(n):
    return leaf_a(n)
def calls_b(n):
    return leaf_b(n)
def loop():
    while True:
        calls_a(20)
        calls_b(20)
# How long each takes in a thousand turns of the loop: the least of some tries.
def spent():
    times = [1e9, 1e9]
    for attempt in range(20):
        took = [0.0, 0.0]
        for turn in range(1000):
            start = time.perf_counter()
            calls_a(20)
            middle = time.perf_counter()
            calls_b(20)
            took[0] += middle - start
            took[1] += time.perf_counter() - middle
        times = [min(pair) for pair in zip(times, took)]
    return times
a, b = spent()
say(a / (a + b))
loop()
)py";

class ThreadSampleLive : public OnEachPython {};

struct HotLoop {
  explicit HotLoop(const std::string& python)
      : target(python, kHotLoop), look(target.pid()) {
    runtime = *find_python(look.memory, look.modules);
    for (const auto deadline = patience(); !deadline.expired();) {
      const auto threads = python_threads(look.memory, runtime, look.tasks);
      if (threads && !threads->empty()) {
        thread = threads->front();
        const auto stack =
            PythonStackReader(look.memory, runtime).read(thread.state);
        if (stack && stack->frames.size() > 2) {
          break;
        }
      }
    }
  }

  PythonChild target;
  Look look;
  PythonRuntime runtime;
  PythonThread thread;
};

// "" if the program can be there, else what is wrong.
std::string impossible(const PythonStack& stack) {
  std::vector<std::string> names;
  for (const PythonFrame& frame : stack.frames) {
    names.insert(names.begin(), frame.function);
  }
  const std::vector<std::vector<std::string>> possible = {
      {"<module>", "loop"},
      {"<module>", "loop", "calls_a"},
      {"<module>", "loop", "calls_a", "leaf_a"},
      {"<module>", "loop", "calls_b"},
      {"<module>", "loop", "calls_b", "leaf_b"}};
  const std::string text = fmt::format("{}", fmt::join(names, " > "));
  if (std::ranges::find(possible, names) == possible.end()) {
    return text;
  }
  if (names.size() > 2) {
    // In kHotLoop; the prelude comes before it.
    const auto line_of = [&](std::size_t depth) {
      const auto& frame = stack.frames[names.size() - 1 - depth];
      return frame.line - frame.first_line;
    };
    if (line_of(1) != (names[2] == "calls_a" ? 2 : 3) ||
        (names.size() > 3 && line_of(2) != 1)) {
      return fmt::format("{} at +{}", text, line_of(1));
    }
  }
  return {};
}

// The share of leaf_a in the samples of the loop (its caller's time is part of
// it), and for how long they stopped the thread, in microseconds.
struct Sampled {
  double share = 0;
  std::vector<double> pauses;
};

void sample(const HotLoop& hot, int looks, Sampled& sampled) {
  PythonStackReader stacks(hot.look.memory, hot.runtime);
  std::map<std::string, int> seen_in;
  for (int i = 0; i < looks; ++i) {
    const auto seen = sample_thread(hot.target.pid(), hot.look.memory,
                                    hot.runtime, stacks, hot.thread);
    ASSERT_TRUE(seen) << seen.error().text();
    if (!seen->stack.exact) {
      continue;  // it had no CPU to stop on, for long
    }
    ASSERT_EQ(impossible(seen->stack), "") << "look " << i;
    ++seen_in[seen->stack.frames.front().function];
    sampled.pauses.push_back(
        std::chrono::duration<double, std::micro>(seen->stopped).count());
  }
  const auto exact = static_cast<int>(sampled.pauses.size());
  ASSERT_GT(exact, looks * 99 / 100);
  std::ranges::sort(sampled.pauses);
  sampled.share = static_cast<double>(seen_in["calls_a"] + seen_in["leaf_a"]) /
                  (exact - seen_in["loop"]);
}

TEST_P(ThreadSampleLive, OfOneThatRunsIsFromOneMoment) {
  const HotLoop hot(path_);
  const double expected = std::stod(hot.target.said());
  // A machine that turns busy in the middle shifts the shares: three tries.
  for (int tries = 1; tries <= 3; ++tries) {
    Sampled sampled;
    ASSERT_NO_FATAL_FAILURE(sample(hot, 3'000, sampled));
    const auto& pauses = sampled.pauses;
    fmt::print(
        "python {}: stopped for {:.0f} us (median), {:.0f} (99 %), {:.0f} "
        "(longest); in leaf_a {:.0f} %, by its clock {:.0f} %\n",
        hot.runtime.version.text(), pauses[pauses.size() / 2],
        pauses[pauses.size() * 99 / 100], pauses.back(), 100 * sampled.share,
        100 * expected);
    if (std::abs(sampled.share - expected) <= 0.2 * expected) {
      return;
    }
  }
  FAIL() << "the leaves are not seen as often as they run";
}

// The kernel releases tracees when their tracer thread ends: one that stops
// too late must have no tracer left.
TEST_P(ThreadSampleLive, IsStoppedByAThreadOfItsOwn) {
  const HotLoop hot(path_);
  PythonStackReader stacks(hot.look.memory, hot.runtime);
  int tracer = 0;
  const auto seen = sample_thread(
      hot.target.pid(), hot.look.memory, hot.runtime, stacks, hot.thread,
      {.copy = [&](const Registers&) -> Status {
        tracer = read_task_status(hot.target.pid(), *hot.thread.tid)
                     .value()
                     .tracer_pid;
        return {};
      }});
  ASSERT_TRUE(seen && seen->stack.exact);
  EXPECT_GT(tracer, 0);
  EXPECT_NE(tracer, ::gettid());
  EXPECT_EQ(
      read_task_status(hot.target.pid(), *hot.thread.tid).value().tracer_pid,
      0);
}

TEST_P(ThreadSampleLive, WithoutAStopIsNotCalledExact) {
  const HotLoop hot(path_);
  PythonStackReader stacks(hot.look.memory, hot.runtime);
  int torn = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto seen =
        sample_thread(hot.target.pid(), hot.look.memory, hot.runtime, stacks,
                      hot.thread, {.may_stop = false});
    if (seen && seen->stack.exact) {
      ASSERT_EQ(impossible(seen->stack), "") << "look " << i;
    }
    torn += !seen || !impossible(seen->stack).empty() ? 1 : 0;
  }
  fmt::print("python {}: {} of 1000 torn, none called exact\n",
             hot.runtime.version.text(), torn);
}

INSTANTIATE_TEST_SUITE_P(
    Pythons,
    ThreadSampleLive,
    testing::ValuesIn([] {
      auto names = kSupported;
      names.insert(names.end(), {"3.13t", "3.14t", "3.15t"});
      return names;
    }()),
    python_name);

}  // namespace
}  // namespace hangdbg
