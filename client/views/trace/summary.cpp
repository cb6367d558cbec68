#include "client/views/trace/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "protocol/json.h"
#include "protocol/reports/trace.h"
#include "tracee/syscalls/call_text.h"

namespace hangdbg {
namespace {

std::string name_of(long number) {
  return number < 0 ? call_name({.number = -number - 1, .compat = true})
                    : call_name({.number = number});
}

}  // namespace

// One that is not over counts with the time that it has taken so far.
void TraceSummary::call(const CallRecord& record) {
  const long number =
      record.call.compat ? -record.call.number - 1 : record.call.number;
  Sum& sum = sums_[number];
  sum.calls += 1;
  sum.errors +=
      record.state == CallRecord::State::Over && is_error(record.result) ? 1
                                                                         : 0;
  sum.time += record.took;
}

void TraceSummary::end() {
  std::vector<std::pair<long, Sum>> sums(sums_.begin(), sums_.end());
  std::ranges::stable_sort(sums, [](const auto& a, const auto& b) {
    return a.second.time > b.second.time;
  });
  if (json_) {
    reports::TraceSums json;
    for (const auto& [number, sum] : sums) {
      json.calls.push_back(
          {.call = name_of(number),
           .calls = static_cast<std::int64_t>(sum.calls),
           .errors = static_cast<std::int64_t>(sum.errors),
           .seconds = std::chrono::duration<double>(sum.time).count()});
    }
    output_.append(encode(json).dump() + "\n");
    return;
  }
  Sum all;
  for (const auto& [number, sum] : sums) {
    all.calls += sum.calls;
    all.errors += sum.errors;
    all.time += sum.time;
  }
  const auto line = [&](const Sum& sum, std::string_view name) {
    const double seconds = std::chrono::duration<double>(sum.time).count();
    const double share = all.time.count() > 0
                             ? 100.0 * static_cast<double>(sum.time.count()) /
                                   static_cast<double>(all.time.count())
                             : 0;
    return fmt::format(
        "{:>6.2f} {:>13.6f} {:>11.1f} {:>9} {:>9}  {}\n", share, seconds,
        sum.calls > 0 ? seconds * 1e6 / static_cast<double>(sum.calls) : 0,
        sum.calls, sum.errors > 0 ? fmt::format("{}", sum.errors) : "", name);
  };
  std::string text =
      fmt::format("{:>6} {:>13} {:>11} {:>9} {:>9}  {}\n", "% time", "seconds",
                  "us/call", "calls", "errors", "call");
  for (const auto& [number, sum] : sums) {
    text += line(sum, name_of(number));
  }
  output_.append(text + line(all, "total"));
}

}  // namespace hangdbg
