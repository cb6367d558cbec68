#include <fmt/core.h>

#include <algorithm>

#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

// A task's row must have a number that no thread has.
constexpr std::uint32_t kFirstTaskRow = 1U << 22;  // behind the last tid
// Perfetto drops what begins deeper, and then takes its end for the end of
// another call of that name (SliceTracker::kMaxDepth).
constexpr std::size_t kMostOpenCalls = 512;

std::uint32_t chrome_tid(const ProfiledThread& thread, std::uint32_t index) {
  return thread.task > 0 ? kFirstTaskRow + index
                         : static_cast<std::uint32_t>(thread.tid);
}

// The calls of one thread that are open, as its runs follow each other.
class ChromeThread {
 public:
  ChromeThread(const RecordedProfile& recorded,
               const std::vector<std::string>& labels,
               std::uint32_t thread)
      : recorded_(recorded),
        labels_(labels),
        thread_(recorded.profile.threads()[thread]),
        tid_(chrome_tid(thread_, thread)) {}

  // Ends those that are not in `path`, and begins those that are new.
  void go_to(const std::vector<std::uint32_t>& path,
             double at,
             std::string& out) {
    const auto [open, wanted] = std::ranges::mismatch(open_, path);
    const auto keep = static_cast<std::size_t>(open - open_.begin());
    while (open_.size() > keep) {
      event('E', open_.back(), at, out);
      open_.pop_back();
    }
    for (std::size_t i = keep; i < path.size(); ++i) {
      event('B', path[i], at, out);
      open_.push_back(path[i]);
    }
  }

 private:
  // A call ends a nanosecond before the next begins: readers order events of
  // one moment as they like, and take one recursion for another.
  void event(char kind, std::uint32_t node, double at, std::string& out) const {
    const double microseconds = at * 1e6 - (kind == 'E' ? 0.001 : 0);
    out +=
        fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{:.3f},"name":{}}},)"
                    "\n",
                    kind, thread_.pid, tid_, microseconds,
                    labels_[recorded_.profile.nodes()[node].place]);
  }

  const RecordedProfile& recorded_;
  const std::vector<std::string>& labels_;
  const ProfiledThread& thread_;
  std::uint32_t tid_;
  std::vector<std::uint32_t> open_;
};

std::string metadata(int pid,
                     std::uint32_t tid,
                     const char* what,
                     const std::string& name) {
  return fmt::format(
      R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}},)"
      "\n",
      pid, tid, what, json_text(name));
}

}  // namespace

std::string write_chrome_trace(const RecordedProfile& recorded) {
  const Profile& profile = recorded.profile;
  std::vector<std::string> labels;
  for (const ProfilePlace& place : profile.places()) {
    labels.push_back(json_text(frame_label(place)));
  }
  std::vector<std::vector<const ProfileRun*>> runs(profile.threads().size());
  for (const ProfileRun& run : profile.runs()) {
    runs[run.thread].push_back(&run);
  }
  std::string events;
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const ProfiledThread& thread = profile.threads()[i];
    const std::uint32_t tid = chrome_tid(thread, i);
    events += metadata(thread.pid, tid, "process_name", thread.process);
    events += metadata(
        thread.pid, tid, "thread_name",
        thread.name.empty() ? fmt::format("{}", thread.tid) : thread.name);
    ChromeThread chrome(recorded, labels, i);
    std::uint64_t end = 0;
    for (const ProfileRun* const run : runs[i]) {
      if (run->first > end) {
        chrome.go_to({}, recorded.seconds(end), events);
      }
      auto path = profile.path(run->node);
      path.resize(std::min(path.size(), kMostOpenCalls));
      chrome.go_to(path, recorded.seconds(run->first), events);
      end = run->first + run->length;
    }
    chrome.go_to({}, recorded.seconds(end), events);
  }
  if (events.ends_with(",\n")) {
    events.resize(events.size() - 2);
  }
  return fmt::format(
      R"({{"displayTimeUnit":"ms","otherData":{{"title":{}}},"traceEvents":[)"
      "\n{}\n]}}\n",
      json_text(recorded.title), events);
}

}  // namespace hangdbg
