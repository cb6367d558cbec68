#include <fmt/core.h>

#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

constexpr std::size_t kFirstGeckoTask = std::size_t{1} << 22;  // behind tids

constexpr const char* kGeckoThread =
    R"({{"name":{},"processName":{},"processType":"default","pid":{},"tid":{},"registerTime":0,"unregisterTime":null,"markers":{{"schema":{{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5}},"data":[]}},"samples":{{"schema":{{"stack":0,"time":1,"responsiveness":2}},"data":[{}]}},"frameTable":{{"schema":{{"location":0,"relevantForJS":1,"innerWindowID":2,"implementation":3,"optimizations":4,"line":5,"column":6,"category":7,"subcategory":8}},"data":[{}]}},"stackTable":{{"schema":{{"prefix":0,"frame":1}},"data":[{}]}},"stringTable":[{}]}})";

// Stacks and frames are numbered as nodes and places are, less one: the root
// has no number. All threads have the same tables.
struct GeckoTables {
  std::string frames, stacks, strings;
};

GeckoTables gecko_tables(const Profile& profile) {
  GeckoTables tables;
  for (std::uint32_t i = 1; i < profile.places().size(); ++i) {
    const char* const comma = i == 1 ? "" : ",";
    const ProfilePlace& place = profile.places()[i];
    tables.frames += fmt::format("{}[{},false,0,null,null,{},null,1,0]", comma,
                                 i - 1, line_of(place));
    tables.strings += comma + json_text(frame_label(place));
  }
  for (std::uint32_t i = 1; i < profile.nodes().size(); ++i) {
    const ProfileNode& node = profile.nodes()[i];
    tables.stacks += fmt::format("{}[{},{}]", i == 1 ? "" : ",",
                                 node.parent == Profile::kRoot
                                     ? "null"
                                     : fmt::format("{}", node.parent - 1),
                                 node.place - 1);
  }
  return tables;
}

}  // namespace

std::string write_gecko(const RecordedProfile& recorded) {
  const Profile& profile = recorded.profile;
  const GeckoTables tables = gecko_tables(profile);
  std::vector<std::string> samples(profile.threads().size());
  for (const ProfileRun& run : profile.runs()) {
    std::string& data = samples[run.thread];
    for (std::uint64_t i = 0; i < run.length; ++i) {
      data += fmt::format("{}[{},{:.3f},0]", data.empty() ? "" : ",",
                          run.node - 1, recorded.seconds(run.first + i) * 1e3);
    }
  }
  std::string threads;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].empty()) {
      continue;
    }
    const ProfiledThread& thread = profile.threads()[i];
    threads += threads.empty() ? "" : ",";
    threads += fmt::format(
        kGeckoThread,
        json_text(thread.name.empty() ? fmt::format("{}", thread.tid)
                                      : thread.name),
        json_text(thread.process), thread.pid,
        thread.task > 0 ? kFirstGeckoTask + i
                        : static_cast<std::size_t>(thread.tid),
        samples[i], tables.frames, tables.stacks, tables.strings);
  }
  return fmt::format(
      R"({{"meta":{{"version":24,"interval":{},"startTime":{:.3f},"processType":0,"product":{},"stackwalk":0,"debug":0,"gcpoison":0,"asyncstack":0,"presymbolicated":true,"categories":[{{"name":"Other","color":"grey","subcategories":["Other"]}},{{"name":"Python","color":"yellow","subcategories":["Other"]}}],"markerSchema":[]}},"libs":[],"threads":[{}],"processes":[],"pausedRanges":[]}})"
      "\n",
      recorded.seconds(1) * 1e3,
      std::chrono::duration<double, std::milli>(
          recorded.began.time_since_epoch())
          .count(),
      json_text(recorded.title), threads);
}

}  // namespace hangdbg
