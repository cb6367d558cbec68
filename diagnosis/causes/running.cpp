// A thread that runs: it works, or spins in a loop in which nothing
// changes.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/rules.h"
#include "diagnosis/waits/sleep_loop.h"

namespace hangdbg::causes {
namespace {

constexpr auto kRunningMoment = std::chrono::milliseconds(15);
constexpr int kRunningSamples = 4;
constexpr int kMostSamples = 20;  // of a thread that gets little CPU time

using Values = std::map<std::string, std::string>;

// "i: 3 -> 4, x: (none) -> 1"; empty if there are none.
std::string differences(const Values& before, const Values& now) {
  std::string changes;
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    if (old == before.end() || old->second != value) {
      changes += fmt::format(
          "{}{}: {} -> {}", changes.empty() ? "" : ", ", printable(name),
          old == before.end() ? "(none)" : old->second, value);
    }
  }
  return changes;
}

// The loop that the thread is in: the innermost frame that all samples share,
// since its callees change, and the lines at which it was seen.
struct RunningLoop {
  PythonFrame frame;
  std::set<int> lines;
  bool calls = false;  // it was seen in a callee of the loop
  bool moves = false;  // it was seen at more than one instruction
};

// "train.py:12-15 in main"
std::string lines_of(const RunningLoop& loop) {
  if (loop.lines.size() < 2) {
    return place_of(loop.frame);
  }
  const std::string_view file = loop.frame.file;
  return fmt::format("{}:{}-{} in {}", printable(base_name(file)),
                     *loop.lines.begin(), *loop.lines.rbegin(),
                     printable(loop.frame.function));
}

std::optional<RunningLoop> watch_thread(const ProcessSnapshot& of,
                                        const ThreadSnapshot& thread) {
  constexpr int kStacks = 8;
  // The outermost first, as long as they are the same.
  std::vector<PythonFrame> common(thread.frames().rbegin(),
                                  thread.frames().rend());
  std::vector<std::set<int>> lines(common.size());
  std::vector<bool> moves(common.size());
  bool calls = false;
  for (const PythonStack& seen :
       of.watch_stack(thread, kStacks, kRunningMoment / 2)) {
    const auto& frames = seen.frames;
    std::size_t same = 0;
    for (; same < std::min(common.size(), frames.size()); ++same) {
      const PythonFrame& now = frames[frames.size() - 1 - same];
      if (now.address != common[same].address ||
          now.code != common[same].code) {
        break;
      }
      lines[same].insert(now.line);
      moves[same] = moves[same] || now.offset != common[same].offset;
    }
    calls = calls || same < frames.size() || same < common.size();
    common.resize(same);
  }
  const std::size_t last = common.size() - 1;
  return common.empty() ? std::nullopt
                        : std::optional(RunningLoop{common.back(), lines[last],
                                                    calls, moves[last]});
}

// It has been in one and the same call all the time, of a function in C: that
// it loops is not seen.
bool is_in_one_call(const ProcessSnapshot& of, const RunningLoop& loop) {
  const auto read = loop.moves ? std::nullopt : of.loops(loop.frame);
  return read && read->call.at != BytecodeFlow::kNone;
}

// False if it waits for a CPU, or is throttled: nothing can change then.
bool has_run(const ProcessSnapshot& of,
             const ThreadSnapshot& thread,
             const SchedStats& since) {
  constexpr std::uint64_t kEnough = 20'000'000;  // ns: a million bytecodes
  const auto now = of.runs_now(thread.id.tid);
  return !now || now->nanoseconds == 0 ||
         now->nanoseconds - since.nanoseconds >= kEnough;
}

// "the loop at train.py:3-4 in f asks for the time, ..."; "" if it does not.
std::string ends_by_time(const ProcessSnapshot& of, const PythonFrame& frame) {
  const auto read = of.loops(frame);
  if (!read || read->loops.empty() || !read->loops.front().asks_clock) {
    return "";
  }
  const SleepLoop loop{.frame = &frame, .around = read->loops.front()};
  return fmt::format("the loop at {} asks for the time, which may end it",
                     loop.lines());
}

// Whether it was seen in a callee of the loop.
bool leaves(const RunningLoop& loop, const ThreadSnapshot& thread) {
  const std::string in = " in " + printable(loop.frame.function);
  return loop.calls ||
         !std::ranges::all_of(
             thread.places, [&](const auto& one) { return one.ends_with(in); });
}

// The C function that it was in, in at least half of the samples: one sample
// may fall between two long calls. Empty: none.
std::string computes_in(const ProcessSnapshot& of,
                        const ThreadSnapshot& thread) {
  std::string function;
  int seen = 0;
  for (int look = 0; look < kRunningSamples; ++look) {
    const auto functions = of.native(thread);
    if (!functions.empty()) {
      function = functions.front();
      ++seen;
    }
    std::this_thread::sleep_for(kRunningMoment / 2);
  }
  return seen * 2 >= kRunningSamples ? function : "";
}

// Which of its variables change between samples. None: they cannot be read, it
// has none, or it has not run meanwhile.
std::optional<std::string> changes_in(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread,
                                      const PythonFrame& frame) {
  const auto begun = of.runs_now(thread.id.tid);
  const Values before = of.locals_now(frame);
  std::string changes;
  const auto ran = [&] { return !begun || has_run(of, thread, *begun); };
  for (int look = 0;
       look < (ran() ? kRunningSamples : kMostSamples) && changes.empty();
       ++look) {
    std::this_thread::sleep_for(kRunningMoment);
    const Values now = of.locals_now(frame);
    if (now.empty() || before.empty()) {
      return {};
    }
    changes = differences(before, now);
  }
  if (changes.empty() && !ran()) {
    return {};
  }
  return changes;
}

// None: it does not sleep, or not all the time that it takes to see where.
std::optional<ThreadSnapshot> while_asleep(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread) {
  const auto sleeping = [&]() -> std::optional<WaitSample> {
    auto now = of.wait_now(thread.id.tid);
    return now && now->state == 'S' && !now->call.running ? std::move(now)
                                                          : std::nullopt;
  };
  auto begun = sleeping();
  if (!begun) {
    return std::nullopt;
  }
  auto stacks = of.watch_stack(thread, 1, std::chrono::milliseconds(0));
  const auto still = sleeping();
  if (!still || still->runs != begun->runs || stacks.empty() ||
      stacks.front().frames.empty()) {
    return std::nullopt;
  }
  ThreadSnapshot there = thread;
  there.wait = *std::move(begun);
  there.stack = std::move(stacks.front());
  return there;
}

// A thread, or an event loop, that sleeps for some milliseconds at a time may
// have been awake in each sample: where it sleeps says more.
Found sleeps_between(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  constexpr int kLooks = 6;
  constexpr auto kApart = std::chrono::milliseconds(3);
  constexpr auto kForCpu = std::chrono::milliseconds(250);
  const Deadline patience = of.system.deadline().capped(kForCpu);
  auto ran = of.runs_now(thread.id.tid);
  for (int looks = 0; looks < kLooks;) {
    const auto there = while_asleep(of, thread);
    if (there && there->frames().front().file.ends_with("/selectors.py")) {
      auto loop = asyncio(of, *there);
      if (loop && loop->progress != Progress::Stuck) {
        return loop;
      }
    }
    if (there && is_timed_sleep(there->wait.call)) {
      return cause_by_rules(of, *there);  // "time", at the latest
    }
    std::this_thread::sleep_for(kApart);
    // As long as it only waits for a CPU, it cannot fall asleep.
    const auto before = std::exchange(ran, of.runs_now(thread.id.tid));
    if (there || ran != before || patience.expired()) {
      ++looks;
    }
  }
  return std::nullopt;
}

}  // namespace

Found running(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (thread.wait.state != 'R' && !thread.ran) {
    return std::nullopt;
  }
  constexpr double kWorks = 50;  // percent of a CPU
  if (of.is_python() && thread.python && thread.cpu_percent < kWorks) {
    if (auto asleep = sleeps_between(of, thread)) {
      return asleep;
    }
  }
  Cause cause{.id = CauseId::Runs,
              .progress = Progress::Running,
              .confidence = Confidence::Likely,
              .summary = fmt::format("runs, cpu {:.0f} %, at {}",
                                     thread.cpu_percent, thread.place())};
  std::string places;
  for (const std::string& place : thread.places) {
    places += (places.empty() ? "" : "; ") + place;
  }
  cause.evidence.push_back(fmt::format(
      "{} {} in {} looks: {}", thread.places.size(),
      thread.places.size() == 1 ? "place" : "places", thread.looks, places));
  if (thread.frames().empty() || !of.is_python() ||
      (thread.cpu_percent < kWorks && thread.wait.state != 'R')) {
    return cause;
  }
  const auto loop = watch_thread(of, thread);
  const auto changes =
      loop ? changes_in(of, thread, loop->frame) : std::optional<std::string>();
  if (!changes) {
    return cause;
  }
  const std::string lines = lines_of(*loop);
  if (!changes->empty()) {
    cause.summary = fmt::format("runs, cpu {:.0f} %, in the loop at {}",
                                thread.cpu_percent, lines);
    cause.evidence.push_back("what changes in it: " + *changes);
    return cause;
  }
  cause.evidence.push_back(
      fmt::format("none of the variables of {} has changed meanwhile",
                  printable(loop->frame.function)));
  // It may compute for long in C code, or in what that calls; without a stop,
  // that cannot be seen.
  if (!of.system.may_stop) {
    return cause;
  }
  if (const auto ends = ends_by_time(of, loop->frame); !ends.empty()) {
    cause.evidence.push_back(ends);
  } else if (const auto function = computes_in(of, thread); !function.empty()) {
    cause.evidence.push_back("in " + function);
  } else if (is_in_one_call(of, *loop)) {
    cause.evidence.push_back(
        fmt::format("it was in the same call in all looks, at {}", lines));
  } else if (!leaves(*loop, thread)) {
    cause.id = CauseId::BusyLoop;
    cause.progress = Progress::Blocked;
    cause.confidence = Confidence::Likely;
    cause.summary =
        fmt::format("spins without changing any state, cpu {:.0f} %, at {}",
                    thread.cpu_percent, lines);
    cause.next.push_back({fmt::format("hangdbg attach {}", of.pid),
                          "a prompt in the loop: `hold`, then step"});
  }
  return cause;
}

}  // namespace hangdbg::causes
