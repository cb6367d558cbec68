#include "client/views/record/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kShownFunctions = 20;
constexpr std::size_t kReportedFunctions = 100;

// "1,234,567"
std::string with_commas(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0;
       at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

double share_of(auto part, auto whole) {
  return whole.count() == 0 ? 0
                            : static_cast<double>(part.count()) /
                                  static_cast<double>(whole.count());
}

// What was done to keep the cost down.
std::string lowered_text(const RecordingState& state) {
  const std::string rate =
      state.was_lowered
          ? fmt::format("rate lowered to {:.3g} Hz", state.lowest_rate)
          : "";
  const std::string later =
      state.put_off > 0
          ? fmt::format("{} of the samples put off", with_commas(state.put_off))
          : "";
  return rate.empty() && later.empty()
             ? ""
             : "; " + rate + (rate.empty() || later.empty() ? "" : " and ") +
                   later + " to keep the cost down";
}

double record_seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string recording_line(const RecordingState& state, double rate) {
  const SampleCounts& counts = state.counts;
  return fmt::format(
      "{:.1f} s at {:g} Hz: {} samples due, {} kept ({} late), {} missed, {} "
      "torn; hangdbg used {:.1f} % of a CPU, and stopped threads for {:.2f} % "
      "of the time{}",
      record_seconds(state.lasted), rate, with_commas(counts.due),
      with_commas(counts.kept), with_commas(counts.late),
      with_commas(counts.missed), with_commas(counts.torn),
      share_of(state.used, state.lasted) * 100,
      share_of(state.stopped, state.lasted) * 100, lowered_text(state));
}

std::string function_lines(const RecordedProfile& recorded,
                           const Palette& palette) {
  const auto all = static_cast<double>(
      std::max<std::uint64_t>(recorded.profile.weight(), 1));
  std::string text;
  const auto times = function_times(recorded.profile);
  for (std::size_t i = 0; i < std::min(times.size(), kShownFunctions); ++i) {
    const FunctionTime& time = times[i];
    text += fmt::format("{:>7.1f} {:>7.1f}   {}\n",
                        static_cast<double>(time.own) / all * 100,
                        static_cast<double>(time.total) / all * 100,
                        printable(frame_label(time.place)));
  }
  if (text.empty()) {
    return "no thread ran Python\n";
  }
  text = palette.dim("  own %  total %  function") + "\n" + text;
  std::string waits;
  for (const WaitTime& time :
       wait_times(recorded.profile) | std::views::take(kShownFunctions)) {
    waits += fmt::format("{:>7.1f}           {}\n",
                         static_cast<double>(time.samples) / all * 100,
                         printable(time.reason));
  }
  return waits.empty()
             ? text
             : text + palette.dim(" wait %           reason") + "\n" + waits;
}

reports::Record recording_report(const RecordedProfile& recorded,
                                 const std::string& file) {
  const RecordingState& state = recorded.state;
  reports::Record report;
  report.lasted_s = record_seconds(state.lasted);
  report.rate = recorded.rate;
  report.lowest_rate = state.lowest_rate;
  report.put_off = static_cast<std::int64_t>(state.put_off);
  report.due = static_cast<std::int64_t>(state.counts.due);
  report.kept = static_cast<std::int64_t>(state.counts.kept);
  report.late = static_cast<std::int64_t>(state.counts.late);
  report.missed = static_cast<std::int64_t>(state.counts.missed);
  report.torn = static_cast<std::int64_t>(state.counts.torn);
  report.cpu_share = share_of(state.used, state.lasted);
  report.stopped_share = share_of(state.stopped, state.lasted);
  report.weight = static_cast<std::int64_t>(recorded.profile.weight());
  if (!file.empty()) {
    report.file = to_utf8(file);
  }
  for (const FunctionTime& time : function_times(recorded.profile)) {
    if (report.functions.size() == kReportedFunctions) {
      break;
    }
    report.functions.push_back({to_utf8(time.place.function),
                                to_utf8(time.place.file), time.place.first_line,
                                static_cast<std::int64_t>(time.own),
                                static_cast<std::int64_t>(time.total)});
  }
  if (recorded.waits) {
    report.waits.emplace();
    for (const WaitTime& time :
         wait_times(recorded.profile) | std::views::take(kReportedFunctions)) {
      report.waits->push_back(
          {to_utf8(time.reason), static_cast<std::int64_t>(time.samples)});
    }
  }
  return report;
}

}  // namespace hangdbg
