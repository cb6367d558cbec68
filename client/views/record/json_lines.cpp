#include <fmt/core.h>

#include "client/views/record/formats.h"

namespace hangdbg {

std::string write_json_lines(const RecordedProfile& recorded) {
  const Profile& profile = recorded.profile;
  const SampleCounts& counts = recorded.state.counts;
  std::string text = fmt::format(
      R"({{"title":{},"began":{:.6f},"rate":{},"lasted_s":{:.6f},"due":{},"kept":{},"late":{},"missed":{},"torn":{},"all":{}}})"
      "\n",
      json_text(recorded.title),
      std::chrono::duration<double>(recorded.began.time_since_epoch()).count(),
      recorded.rate,
      std::chrono::duration<double>(recorded.state.lasted).count(), counts.due,
      counts.kept, counts.late, counts.missed, counts.torn,
      profile.has_all_runs());
  std::vector<std::string> frames;
  for (const ProfilePlace& place : profile.places()) {
    frames.push_back(
        place.kind == ProfilePlace::Kind::Wait ? json_text(place.function)
        : place.kind == ProfilePlace::Kind::Frame
            ? fmt::format(R"({{"function":{},"file":{},"line":{}}})",
                          json_text(place.function), json_text(place.file),
                          line_of(place))
            : "");
  }
  for (const ProfileRun& run : profile.runs()) {
    const ProfiledThread& thread = profile.threads()[run.thread];
    std::string stack;
    std::string wait;
    for (const std::uint32_t node : profile.path(run.node)) {
      const std::uint32_t place = profile.nodes()[node].place;
      const std::string& frame = frames[place];
      if (profile.places()[place].kind == ProfilePlace::Kind::Wait) {
        wait = ",\"wait\":" + frame;
      } else if (!frame.empty()) {
        stack += (stack.empty() ? "" : ",") + frame;
      }
    }
    text += fmt::format(
        R"({{"at_s":{:.6f},"samples":{},"pid":{},"tid":{},"thread":{},"stack":[{}]{}}})"
        "\n",
        recorded.seconds(run.first), run.length, thread.pid, thread.tid,
        json_text(thread.name), stack, wait);
  }
  return text;
}

}  // namespace hangdbg
