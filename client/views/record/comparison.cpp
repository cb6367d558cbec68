#include "client/views/record/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "client/views/dump/picture_text.h"
#include "client/views/record/flame.h"
#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

constexpr std::size_t kShownChanges = 20;  // each way
constexpr double kMostErrors = 3;
constexpr double kFullColour = 0.1;  // a difference of shares

// By function, the sum of the squares of the runs that end in it.
class Squares {
 public:
  explicit Squares(const ReadProfile& of) : weight_(of.weight()) {
    for (std::uint32_t i = 1; i < of.squares.size(); ++i) {
      const ProfileNode& node = of.profile.nodes()[i];
      const ProfilePlace& place = of.profile.places()[node.place];
      const bool waits = place.kind == ProfilePlace::Kind::Wait;
      const ProfileNode& owner = waits ? of.profile.nodes()[node.parent] : node;
      by_function_[of.profile.places()[owner.place]] += of.squares[i];
      all_ += of.squares[i];
    }
  }
  // Of a share, squared: of a ratio whose runs are each by itself.
  double error(const ProfilePlace& place, double share) const {
    const auto found = by_function_.find(place);
    const double own = found == by_function_.end() ? 0 : found->second;
    return weight_ > 0
               ? std::max(own * (1 - 2 * share) + all_ * share * share, 0.0) /
                     (weight_ * weight_)
               : 0;
  }

 private:
  std::map<ProfilePlace, double> by_function_;
  double all_ = 0;
  double weight_;
};

double share_in(std::uint64_t part, const ReadProfile& of) {
  return of.weight() > 0 ? static_cast<double>(part) / of.weight() : 0;
}

std::string profile_line(const char* which, const ReadProfile& read) {
  return fmt::format(
      "{} {}: {} samples{}", which, printable(read.path), read.profile.weight(),
      read.lasted_s ? fmt::format(" in {:.1f} s", *read.lasted_s) : "");
}

std::string place_words(const ProfilePlace& place) {
  return to_utf8(fmt::format("{} ({})", place.function, place.file));
}

// Slower first, then faster, the most first; no more of either than are shown.
std::vector<FunctionChange> certain_changes(
    const std::vector<FunctionChange>& all) {
  std::vector<FunctionChange> slower;
  std::vector<FunctionChange> faster;
  for (const FunctionChange& one : all) {
    auto& those = one.difference() > 0 ? slower : faster;
    if (one.is_certain()) {
      those.push_back(one);
    }
  }
  std::ranges::reverse(faster);
  slower.resize(std::min(slower.size(), kShownChanges));
  faster.resize(std::min(faster.size(), kShownChanges));
  slower.insert(slower.end(), faster.begin(), faster.end());
  return slower;
}

// How much each way has in the other profile: by the labels along it.
class SharesBefore {
 public:
  explicit SharesBefore(const ReadProfile& before)
      : before_(before), totals_(before.profile.totals()) {
    for (std::uint32_t i = 1; i < before.profile.nodes().size(); ++i) {
      const ProfileNode& node = before.profile.nodes()[i];
      ids_[{node.parent, before.profile.places()[node.place]}] = i;
    }
  }

  // Of a node of `after`; 0 where there is none.
  double of(const Profile& after, std::uint32_t node) const {
    std::uint32_t mine = Profile::kRoot;
    for (const std::uint32_t step : after.path(node)) {
      const auto found =
          ids_.find({mine, after.places()[after.nodes()[step].place]});
      if (found == ids_.end()) {
        return 0;
      }
      mine = found->second;
    }
    return share_in(totals_[mine], before_);
  }

 private:
  const ReadProfile& before_;
  std::vector<std::uint64_t> totals_;
  std::map<std::pair<std::uint32_t, ProfilePlace>, std::uint32_t> ids_;
};

}  // namespace

bool FunctionChange::is_certain() const {
  return std::abs(difference()) > kMostErrors * error;
}

std::vector<FunctionChange> compare_functions(const ReadProfile& before,
                                              const ReadProfile& after) {
  std::map<ProfilePlace, FunctionChange> changes;
  for (const FunctionTime& time : function_times(before.profile)) {
    FunctionChange& change = changes[time.place];
    change.own_before = share_in(time.own, before);
    change.total_before = share_in(time.total, before);
  }
  for (const FunctionTime& time : function_times(after.profile)) {
    FunctionChange& change = changes[time.place];
    change.own_after = share_in(time.own, after);
    change.total_after = share_in(time.total, after);
  }
  const Squares errors_before(before);
  const Squares errors_after(after);
  std::vector<FunctionChange> all;
  for (auto& [place, change] : changes) {
    change.place = place;
    change.error = std::sqrt(errors_before.error(place, change.own_before) +
                             errors_after.error(place, change.own_after));
    all.push_back(change);
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    return a.difference() > b.difference();
  });
  return all;
}

std::string comparison_lines(const ReadProfile& before,
                             const ReadProfile& after,
                             const Palette& palette) {
  const auto all = compare_functions(before, after);
  std::string text = profile_line("before", before) + "\n" +
                     profile_line("after ", after) + "\n";
  const auto changes = certain_changes(all);
  if (!changes.empty()) {
    text += palette.dim(
                "change   own % before  after   total % before  after   "
                "function") +
            "\n";
  }
  for (const FunctionChange& one : changes) {
    const std::string change = fmt::format("{:>+6.1f}", one.difference() * 100);
    text += fmt::format(
        "{}   {:>12.1f} {:>6.1f}   {:>14.1f} {:>6.1f}   {}\n",
        one.difference() > 0 ? palette.red(change) : palette.green(change),
        one.own_before * 100, one.own_after * 100, one.total_before * 100,
        one.total_after * 100, printable(place_words(one.place)));
  }
  const auto same = static_cast<std::size_t>(std::ranges::count_if(
      all, [](const FunctionChange& one) { return !one.is_certain(); }));
  return text + fmt::format(
                    "{} of {} functions differ by no more than three "
                    "standard errors\n",
                    same, all.size());
}

reports::RecordDiff comparison_report(const ReadProfile& before,
                                      const ReadProfile& after) {
  const auto of = [](const ReadProfile& read) {
    return reports::ComparedRecording{
        to_utf8(read.path), static_cast<std::int64_t>(read.profile.weight()),
        read.lasted_s};
  };
  reports::RecordDiff report{of(before), of(after), {}};
  for (const FunctionChange& one : compare_functions(before, after)) {
    report.functions.push_back({to_utf8(one.place.function),
                                to_utf8(one.place.file), one.own_before,
                                one.own_after, one.total_before,
                                one.total_after, one.error, one.is_certain()});
  }
  return report;
}

std::string write_flame_comparison(const ReadProfile& before,
                                   const ReadProfile& after) {
  const SharesBefore shares(before);
  const auto totals = after.profile.totals();
  const auto look = [&](std::uint32_t node) {
    const double now = share_in(totals[node], after);
    const double then = shares.of(after.profile, node);
    const double strength =
        std::min(std::abs(now - then) / kFullColour, 1.0) * 80;
    return FlameLook{
        fmt::format("--h:{};--s:{:.0f}%", now > then ? 0 : 215, strength),
        fmt::format("{:.2f} % of the samples, {:.2f} % before", now * 100,
                    then * 100),
        ""};
  };
  std::string rows;
  for (const FunctionChange& one :
       certain_changes(compare_functions(before, after))) {
    rows += fmt::format(
        "<tr><td>{:+.1f}</td><td>{:.1f} %</td><td>{:.1f} %</td><td>{}</td>"
        "</tr>\n",
        one.difference() * 100, one.own_before * 100, one.own_after * 100,
        xml_text(place_words(one.place)));
  }
  return flame_page(
      "What became slower or faster",
      xml_text(profile_line("before", before)) + "<br/>" +
          xml_text(profile_line("after", after)) +
          "<br/>Red: a larger share of the samples than before; blue: a "
          "smaller one. What is gone is in the table alone.",
      draw_flame(after.profile, look),
      "<table><tr><th>change</th><th>own before</th><th>after</th>"
      "<th>function</th></tr>\n" +
          rows + "</table>\n");
}

}  // namespace hangdbg
