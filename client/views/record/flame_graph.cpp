#include <fmt/core.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "client/views/dump/picture_text.h"
#include "client/views/record/flame.h"
#include "client/views/record/formats.h"
#include "client/views/record/text.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostFunctions = 30;
constexpr std::size_t kLongestInTable = 300;
constexpr std::size_t kShownRanges = 6;

// One file, one colour.
unsigned hue_of(const std::string& file) {
  unsigned hash = 2166136261U;
  for (const char c : file) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return hash % 360;
}

std::string function_table(const RecordedProfile& recorded) {
  std::string rows;
  const double all = static_cast<double>(
      std::max<std::uint64_t>(recorded.profile.weight(), 1));
  std::size_t left = kMostFunctions;
  for (const FunctionTime& time : function_times(recorded.profile)) {
    if (left-- == 0) {
      break;
    }
    rows +=
        fmt::format("<tr><td>{:.1f} %</td><td>{:.1f} %</td><td>{}</td></tr>\n",
                    static_cast<double>(time.own) / all * 100,
                    static_cast<double>(time.total) / all * 100,
                    xml_text(cut(frame_label(time.place), kLongestInTable)));
  }
  std::string waits;
  for (const WaitTime& time :
       wait_times(recorded.profile) | std::views::take(kMostFunctions)) {
    waits += fmt::format("<tr><td>{:.1f} %</td><td>{}</td></tr>\n",
                         static_cast<double>(time.samples) / all * 100,
                         xml_text(cut(to_utf8(time.reason), kLongestInTable)));
  }
  return "<table><tr><th>own</th><th>total</th><th>function</th></tr>\n" +
         rows + "</table>\n" +
         (waits.empty() ? ""
                        : "<table><tr><th>wait</th><th>reason</th></tr>\n" +
                              waits + "</table>\n");
}

// " [0-2,5]": of which ranks a node is, where it is not of all.
class RankMarks {
 public:
  explicit RankMarks(const RecordedProfile& recorded) : all_(recorded.ranks) {
    if (!all_.empty()) {
      processes_ = recorded.profile.processes();
    }
  }
  std::string of(std::uint32_t node) const {
    if (all_.empty() || processes_[node].size() == all_.size()) {
      return "";
    }
    RankSet ranks;
    for (const int pid : processes_[node]) {
      if (const auto rank = all_.find(pid); rank != all_.end()) {
        ranks.add(rank->second);
      }
    }
    return ranks.empty() ? "" : fmt::format(" [{}]", ranks.text(kShownRanges));
  }

 private:
  const std::map<int, int>& all_;
  std::vector<std::set<int>> processes_;
};

}  // namespace

std::string write_flame_graph(const RecordedProfile& recorded) {
  const Profile& profile = recorded.profile;
  const auto totals = profile.totals();
  const RankMarks marks(recorded);
  const double all =
      static_cast<double>(std::max<std::uint64_t>(profile.weight(), 1));
  const auto look = [&](std::uint32_t node) {
    const ProfilePlace& place = profile.places()[profile.nodes()[node].place];
    return FlameLook{
        place.kind == ProfilePlace::Kind::Wait
            ? "--h:0;--s:0%;font-style:italic"
            : fmt::format("--h:{}", hue_of(place.file)),
        fmt::format("{:.2f} % of the samples ({}), {:.2f} % in it itself",
                    static_cast<double>(totals[node]) / all * 100, totals[node],
                    static_cast<double>(profile.nodes()[node].own) / all * 100),
        marks.of(node)};
  };
  return flame_page(recorded.title,
                    xml_text(recording_line(recorded.state, recorded.rate)),
                    draw_flame(profile, look), function_table(recorded));
}

}  // namespace hangdbg
