#include <fmt/core.h>

#include <algorithm>

#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

// The calls of one thread that are open, as its runs follow each other.
class ChromeThread {
 public:
  ChromeThread(const RecordedProfile& recorded,
               const std::vector<std::string>& labels,
               std::uint32_t thread)
      : recorded_(recorded),
        labels_(labels),
        thread_(recorded.profile.threads()[thread]) {}

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
  void event(char kind, std::uint32_t node, double at, std::string& out) const {
    out +=
        fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{:.0f},"name":{}}},)"
                    "\n",
                    kind, thread_.pid, thread_.tid, at * 1e6,
                    labels_[recorded_.profile.nodes()[node].place]);
  }

  const RecordedProfile& recorded_;
  const std::vector<std::string>& labels_;
  const ProfiledThread& thread_;
  std::vector<std::uint32_t> open_;
};

std::string metadata(const ProfiledThread& thread,
                     const char* what,
                     const std::string& name) {
  return fmt::format(
      R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}},)"
      "\n",
      thread.pid, thread.tid, what, json_text(name));
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
    events += metadata(thread, "process_name", thread.process);
    events += metadata(
        thread, "thread_name",
        thread.name.empty() ? fmt::format("{}", thread.tid) : thread.name);
    ChromeThread chrome(recorded, labels, i);
    std::uint64_t end = 0;
    for (const ProfileRun* const run : runs[i]) {
      if (run->first > end) {
        chrome.go_to({}, recorded.seconds(end), events);
      }
      chrome.go_to(profile.path(run->node), recorded.seconds(run->first),
                   events);
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
