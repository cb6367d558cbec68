#include "inspector/diagnosis/call_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <thread>

#include "inspector/python_locals.h"
#include "tracee/execution_counter.h"

namespace hangdbg {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kShortest = 1;  // of a watch, and of a sleep that tells

double wanted_s(const World& world) {
  constexpr double kMost = 10;
  return std::clamp(world.hung_after_s, kShortest, kMost);
}

Deadline::Clock::duration time_to_watch(const World& world) {
  return std::min(std::chrono::duration_cast<Deadline::Clock::duration>(
                      Seconds(wanted_s(world))),
                  world.deadline().left() * 2 / 3);
}

std::string python_of(const Case& of, const CaseThread& thread) {
  constexpr std::size_t kFrames = 10;
  std::string text;
  const auto heap = Heap::open(of.process().memory, of.process().python);
  for (const PythonFrame& frame : thread.frames() | std::views::take(kFrames)) {
    const auto variables = heap ? read_locals(*heap, frame.address, frame.code)
                                : std::unexpected(heap.error());
    if (!variables) {
      continue;
    }
    for (const Variable& one : *variables) {
      text += fmt::format(
          "{} {:x} {}\n", one.name, one.object.value,
          repr(*heap, one.object, {.depth = 1, .items = 3, .text = 40}));
    }
  }
  return text;
}

// A look at who runs may fail.
bool is_in(const Case& of, const CaseThread& thread, const StackEntry& call) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const auto calls = of.native_calls(thread);
    if (std::ranges::any_of(calls, [&](const StackEntry& one) {
          return one.returns_to == call.returns_to &&
                 one.native.function == call.native.function;
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace

CallWatch watch_call(const Case& of,
                     const CaseThread& thread,
                     const StackEntry& call) {
  constexpr std::chrono::milliseconds kBetweenCounts{20};
  constexpr std::chrono::milliseconds kBetweenLooks{200};
  const double asleep_s = thread.ran ? 0 : thread.wait.asleep_s.value_or(0);
  if (asleep_s >= std::max(of.world.hung_after_s, kShortest)) {
    return {.certain = true,
            .told = fmt::format("asleep in it for {:.1f} s", asleep_s)};
  }
  const auto counter =
      call.returns_to ? ExecutionCounter::open(thread.id.tid, call.returns_to)
                      : std::unexpected(Error{
                            .message = "where it returns to is not known"});
  const std::string before = counter ? "" : python_of(of, thread);
  const auto begun = Deadline::Clock::now();
  const Deadline end = Deadline::in(time_to_watch(of.world));
  bool came_back = false;
  while (!came_back && !end.expired()) {
    std::this_thread::sleep_for(std::min<Deadline::Clock::duration>(
        counter ? kBetweenCounts : kBetweenLooks, end.left()));
    came_back = counter ? counter->count().value_or(0) > 0
                        : python_of(of, thread) != before;
  }
  const double seconds = Seconds(Deadline::Clock::now() - begun).count();
  // Who had left before it began to be counted is not there.
  came_back = came_back || !is_in(of, thread, call);
  const bool cut = !came_back && seconds < wanted_s(of.world);
  const std::string seen =
      came_back
          ? fmt::format("it came back from it within {:.1f} s", seconds)
          : fmt::format("{} in the {:.1f} s that it was watched{}",
                        counter ? "did not come back from it"
                                : "its Python functions have changed nothing",
                        seconds,
                        cut ? ": there was no time for more (--timeout)" : "");
  return {came_back, counter.has_value(), seconds,
          counter ? seen
                  : fmt::format("whether it comes back was not counted: {}; {}",
                                counter.error().text(), seen)};
}

void say_watched(const CallWatch& watch, Cause& cause) {
  cause.confidence = watch.certain ? Confidence::Likely : Confidence::Possible;
  if (watch.watched_s > 0) {
    cause.watched_s = watch.watched_s;
  }
}

}  // namespace hangdbg
