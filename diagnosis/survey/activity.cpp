#include "diagnosis/survey/activity.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"

namespace hangdbg {
namespace {

constexpr double kActivityMoment = 1;  // seconds
constexpr double kIdlePercent = 2;     // what polling costs

std::string innermost(const Sample& sample) {
  return sample.frames.empty() ? "" : line_of(sample.frames.front());
}

// In hangdbg.wait() and its like: these are then the innermost frames
// (python/hangdbg).
bool calls_for_us(const Sample& sample) {
  return !sample.frames.empty() &&
         sample.frames.front().function == "_call_for_one" &&
         sample.frames.front().file.ends_with("/hangdbg/__init__.py");
}

// " at selectors.py:468 in select, from train.py:88 in main": the innermost
// frame, and the program's own.
std::string where(const Sample& sample) {
  if (sample.frames.empty()) {
    return "";
  }
  const PythonFrame& top = sample.frames.front();
  if (calls_for_us(sample)) {
    const auto caller = std::ranges::find_if(
        sample.frames,
        [&](const auto& frame) { return frame.file != top.file; });
    return caller == sample.frames.end() ? "" : " at " + place_of(*caller);
  }
  std::string text = " at " + place_of(top);
  const auto own = std::ranges::find_if(
      sample.frames, [](const auto& frame) { return !is_library(frame.file); });
  if (own != sample.frames.begin() && own != sample.frames.end()) {
    text += ", from " + place_of(*own);
  }
  return text;
}

std::string call_of(const Observed& observed) {
  if (calls_for_us(observed.samples.back())) {
    return "a debugger";
  }
  const WaitSample& wait = observed.samples.back().wait;
  const std::string call = wait.syscall.empty() ? "the kernel" : wait.syscall;
  return observed.file.empty()
             ? call
             : fmt::format("{} of {}", call, printable(observed.file));
}

Activity asleep(const Observed& observed) {
  const Sample& last = observed.samples.back();
  return {"asleep", call_of(observed) + where(last), last.wait.asleep_s};
}

// In percent, from the first sample to the last.
double cpu_of(const std::vector<Sample>& samples) {
  const std::chrono::duration<double> passed =
      samples.back().at - samples.front().at;
  const WaitSample& first = samples.front().wait;
  const WaitSample& last = samples.back().wait;
  const double ran_s =
      last.runs.nanoseconds > 0
          ? static_cast<double>(last.runs.nanoseconds -
                                first.runs.nanoseconds) /
                1e9
          : static_cast<double>(last.cpu_ticks - first.cpu_ticks) /
                static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::min(100.0, 100 * ran_s / std::max(passed.count(), 1e-9));
}

// The thread that holds the GIL in all samples, if it is one and the same.
std::optional<int> lasting_holder(const std::vector<Sample>& samples) {
  const auto holder = samples.front().gil_holder;
  const bool lasts = std::ranges::all_of(samples, [&](const Sample& sample) {
    return sample.gil_holder == holder;
  });
  return lasts ? holder : std::nullopt;
}

Activity moves(const Observed& observed) {
  const auto& samples = observed.samples;
  const Sample& last = samples.back();
  std::set<std::string> places;
  for (const Sample& sample : samples) {
    places.insert(innermost(sample));
  }
  const bool ran =
      last.wait.runs != samples.front().wait.runs || last.wait.state == 'R';
  if (places.size() == 1 && !ran) {
    return asleep(observed);
  }
  const double cpu = cpu_of(samples);
  if (last.frames.empty()) {
    return {"runs", fmt::format("nothing, cpu {:.0f} %", cpu)};
  }
  if (places.size() > 1) {
    return {"runs", fmt::format("nothing: {} places in {} looks, cpu {:.0f} %",
                                places.size(), samples.size(), cpu)};
  }
  const std::string looks = fmt::format(
      "same line in {0} of {0} looks, cpu {1:.0f} %", samples.size(), cpu);
  if (const auto holder = lasting_holder(samples)) {
    return {"asleep", fmt::format("the GIL, held by thread {}{}: {}", *holder,
                                  where(last), looks)};
  }
  if (cpu >= kIdlePercent || samples.size() < kSamples) {
    return {.state = "runs",
            .waits = fmt::format("nothing{}: {}", where(last), looks),
            .one_line = samples.size() >= kSamples};
  }
  return {"loops",
          fmt::format("{}{}: {}", call_of(observed), where(last), looks)};
}

}  // namespace

Activity activity_of(const Observed& observed) {
  const Sample& last = observed.samples.back();
  switch (last.wait.state) {
    case 'Z':
    case 'X':
      return {"ended", "its parent to take notice"};
    case 'T':
      return {"stopped", "SIGCONT", last.wait.asleep_s};
    case 't':
      return {"traced", "a debugger", last.wait.asleep_s};
    case 'D':
      return {"disk", call_of(observed), last.wait.asleep_s};
    default:
      return observed.samples.size() == 1 && !wants_more(last.wait)
                 ? asleep(observed)
                 : moves(observed);
  }
}

bool wants_more(const WaitSample& wait) {
  return wait.state == 'R' ||
         (wait.state == 'S' && !(wait.asleep_s >= kActivityMoment));
}

}  // namespace hangdbg
