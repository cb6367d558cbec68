#include "diagnosis/waits/call_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <thread>
#include <vector>

#include "base/text.h"
#include "inspector/cpython/stacks/python_locals.h"
#include "tracee/ptrace/execution_counter.h"

namespace hangdbg {
namespace {

using Duration = Deadline::Clock::duration;
using Seconds = std::chrono::duration<double>;

constexpr double kShortest = 1;
constexpr double kLongest = 10;

// Leaves time for what comes after it.
Duration time_to_watch(const SystemSnapshot& system) {
  constexpr std::chrono::seconds kRest{2};
  const auto wanted =
      Seconds(std::clamp(system.hung_after_s, kShortest, kLongest));
  const Duration left = system.deadline().left();
  return std::min(std::chrono::duration_cast<Duration>(wanted),
                  std::max<Duration>(left / 2, left - kRest));
}

// Only the thread itself binds its local variables.
std::string variables_of(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread) {
  constexpr std::size_t kFrames = 10;
  std::string text;
  if (!of.is_python()) {
    return text;
  }
  // By a memory reader of its own: what was read before may have changed.
  const auto objects =
      ObjectReader::open(of.process().memory, of.process().python);
  for (const PythonFrame& frame : thread.frames() | std::views::take(kFrames)) {
    const auto variables =
        objects ? read_locals(*objects, frame.address, frame.code)
                : std::unexpected(objects.error());
    for (const Variable& one :
         variables ? *variables : std::vector<Variable>()) {
      text += fmt::format("{} {:x}\n", one.name, one.object.value);
    }
  }
  return text;
}

enum class Look { In, Gone, Failed };

// Whether the thread is in that call, made by the same callers.
Look look_once(const ProcessSnapshot& of,
               const ThreadSnapshot& thread,
               const std::vector<StackEntry>& from) {
  const auto calls = of.native_calls(thread);
  if (calls.empty()) {
    return Look::Failed;
  }
  const auto same = [](const StackEntry& one, const StackEntry& other) {
    return one.returns_to == other.returns_to &&
           one.native.function == other.native.function;
  };
  const auto call = std::ranges::find_if(
      calls, [&](const StackEntry& one) { return same(one, from.front()); });
  // Either stack may end before the outermost function.
  const auto [now, before] =
      std::mismatch(call, calls.end(), from.begin(), from.end(), same);
  return call != calls.end() && (now == calls.end() || before == from.end())
             ? Look::In
             : Look::Gone;
}

// A sample of a running thread may miss functions.
Look look(const ProcessSnapshot& of,
          const ThreadSnapshot& thread,
          const std::vector<StackEntry>& from) {
  constexpr int kTries = 3;
  Look worst = Look::Gone;
  for (int i = 0; i < kTries; ++i) {
    const Look now = look_once(of, thread, from);
    if (now == Look::In) {
      return now;
    }
    worst = now == Look::Failed ? now : worst;
  }
  return worst;
}

// The call and its callers.
std::vector<StackEntry> callers(const ProcessSnapshot& of,
                                const ThreadSnapshot& thread,
                                const StackEntry& call) {
  auto calls = of.native_calls(thread);
  calls.erase(calls.begin(),
              std::ranges::find_if(calls, [&](const StackEntry& one) {
                return one.returns_to == call.returns_to &&
                       one.native.function == call.native.function;
              }));
  return calls.empty() ? std::vector{call} : calls;
}

}  // namespace

CallWatch watch_call(const ProcessSnapshot& of,
                     const ThreadSnapshot& thread,
                     const StackEntry& call) {
  constexpr std::chrono::milliseconds kBetweenCounts{20};
  constexpr std::chrono::milliseconds kBetweenLooks{200};
  if (!of.system.may_watch) {
    return {};
  }
  const double asleep_s = thread.ran ? 0 : thread.wait.asleep_s.value_or(0);
  if (asleep_s >= std::max(of.system.hung_after_s, kShortest)) {
    return {.certain = true,
            .told = fmt::format("asleep in it for {:.1f} s", asleep_s)};
  }
  const auto counter =
      call.returns_to ? ExecutionCounter::open(thread.id.tid, call.returns_to)
                      : std::unexpected(Error{
                            .message = "where it returns to is not known"});
  const auto from = callers(of, thread, call);
  const std::string before = counter ? "" : variables_of(of, thread);
  const auto begun = Deadline::Clock::now();
  const Duration time = time_to_watch(of.system);
  const Deadline end = Deadline::in(time);
  bool came_back = false;
  while (!came_back && !end.expired()) {
    std::this_thread::sleep_for(std::min<Duration>(
        counter ? kBetweenCounts : kBetweenLooks, end.left()));
    came_back = counter ? counter->count().value_or(0) > 0
                        : variables_of(of, thread) != before ||
                              look(of, thread, from) == Look::Gone;
  }
  // A thread that left before counting began is not there.
  came_back = came_back || look(of, thread, from) == Look::Gone;
  const double seconds = Seconds(Deadline::Clock::now() - begun).count();
  const bool enough =
      seconds >= std::clamp(of.system.hung_after_s, kShortest, kLongest);
  std::string told =
      counter ? ""
              : fmt::format("whether it comes back was not counted: {}; ",
                            counter.error().text());
  if (came_back) {
    told += fmt::format("it came back from it within {:.1f} s", seconds);
    return {.came_back = true, .certain = true, .told = std::move(told)};
  }
  told += fmt::format(
      "{} in the {:.1f} s that it was watched{}",
      counter ? "did not come back from it" : "no look has seen a change",
      seconds, enough ? "" : ", too short to tell: see --timeout");
  return {.certain = counter.has_value(),
          .watched = Watched{printable(call.native.name()), seconds, enough},
          .told = std::move(told)};
}

void say_watched(const CallWatch& watch, Cause& cause) {
  cause.confidence = watch.certain ? Confidence::Likely : Confidence::Possible;
  cause.watched = watch.watched;
}

}  // namespace hangdbg
