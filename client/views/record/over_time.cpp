#include "client/views/record/over_time.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "client/views/record/text.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {
namespace {

constexpr std::size_t kRangesInText = 6;
constexpr double kLeastTreeShare = 0.01;  // of the time of any rank
constexpr std::size_t kMostTreeDepth = 100;

// Of which ranks are its main threads: by thread of the profile.
std::map<std::uint32_t, int> main_threads(const RecordedProfile& recorded) {
  std::map<std::uint32_t, int> mains;
  const auto& threads = recorded.profile.threads();
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    const auto rank = recorded.ranks.find(threads[i].pid);
    if (rank != recorded.ranks.end() && threads[i].tid == threads[i].pid) {
      mains[i] = rank->second;
    }
  }
  return mains;
}

std::string place_at(const RecordedProfile& recorded, std::uint32_t node) {
  const Profile& profile = recorded.profile;
  return printable(frame_label(profile.places()[profile.nodes()[node].place]));
}

std::string rank_words(const RankSet& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                     ranks.text(kRangesInText));
}

// "did not run: wait (threading.py:355)", with all ranks of which it is true.
std::string motion_lines(const RecordedProfile& recorded,
                         const std::vector<RankOverTime>& ranks,
                         const Palette& palette) {
  std::map<std::tuple<RankMotion, std::string>, RankSet> groups;
  for (const RankOverTime& one : ranks) {
    const bool at_one = one.motion == RankMotion::DidNotRun ||
                        one.motion == RankMotion::OnePlace;
    groups[{one.motion, at_one && one.node != Profile::kRoot
                            ? place_at(recorded, one.node)
                            : ""}]
        .add(one.rank);
  }
  std::string text;
  for (const auto& [what, those] : groups) {
    const auto& [motion, place] = what;
    switch (motion) {
      case RankMotion::DidNotRun:
        text += palette.red(rank_words(those)) + " did not run" +
                (place.empty() ? "" : ": " + place) + "\n";
        break;
      case RankMotion::OnePlace:
        text += palette.bold(rank_words(those)) +
                " ran, and was at one line in all samples: " + place + "\n";
        break;
      case RankMotion::Moved:
        text += rank_words(those) + " moved\n";
        break;
      case RankMotion::Unseen:
        text += rank_words(those) + ": no stack was seen\n";
        break;
    }
  }
  return text;
}

// A node of all stacks as one tree: which ranks were there, and for which share
// of their time.
struct OverTimeRow {
  std::uint32_t node = 0;
  std::size_t depth = 0;
  std::map<int, double> shares;  // by rank

  double most() const { return std::ranges::max(shares | std::views::values); }
  double least() const { return std::ranges::min(shares | std::views::values); }
};

// Depth first, what has the largest share first.
class OverTimeTree {
 public:
  explicit OverTimeTree(const RecordedProfile& recorded)
      : children_(recorded.profile.children()) {
    at_.resize(recorded.profile.nodes().size());
    const auto mains = main_threads(recorded);
    for (const ProfileRun& run : recorded.profile.runs()) {
      if (const auto main = mains.find(run.thread); main != mains.end()) {
        at_[run.node][main->second] += run.length;
      }
    }
    for (std::size_t i = at_.size(); i-- > 1;) {
      for (const auto& [rank, samples] : at_[i]) {
        at_[recorded.profile.nodes()[i].parent][rank] += samples;
      }
    }
    add_below(Profile::kRoot, 0);
  }

  const std::vector<OverTimeRow>& rows() const { return rows_; }

 private:
  double share(std::uint32_t node, int rank) const {
    return static_cast<double>(at_[node].at(rank)) /
           static_cast<double>(at_[Profile::kRoot].at(rank));
  }
  double most(std::uint32_t node) const {
    double most = 0;
    for (const auto& [rank, samples] : at_[node]) {
      most = std::max(most, share(node, rank));
    }
    return most;
  }
  void add_below(std::uint32_t parent, std::size_t depth) {
    std::ranges::stable_sort(children_[parent], std::greater(),
                             [&](std::uint32_t child) { return most(child); });
    for (const std::uint32_t child : children_[parent]) {
      if (most(child) < kLeastTreeShare || depth >= kMostTreeDepth) {
        continue;
      }
      OverTimeRow& row = rows_.emplace_back();
      row.node = child;
      row.depth = depth;
      for (const auto& [rank, samples] : at_[child]) {
        row.shares[rank] = share(child, rank);
      }
      add_below(child, depth + 1);
    }
  }

  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::map<int, std::uint64_t>> at_;  // by rank, of each node
  std::vector<OverTimeRow> rows_;
};

std::string row_text(const RecordedProfile& recorded, const OverTimeRow& row) {
  RankSet ranks;
  for (const auto& [rank, share] : row.shares) {
    ranks.add(rank);
  }
  const auto from = std::lround(row.least() * 100);
  const auto to = std::lround(row.most() * 100);
  return fmt::format(
      "{:>9}  {:<12} {:{}}{}\n",
      from == to ? fmt::format("{} %", to) : fmt::format("{}-{} %", from, to),
      ranks.text(kRangesInText), "", 2 * row.depth,
      place_at(recorded, row.node));
}

reports::OverPlace over_place(const Profile& profile, std::uint32_t node) {
  const ProfilePlace& place = profile.places()[profile.nodes()[node].place];
  return {to_utf8(place.function), to_utf8(place.file), line_of(place)};
}

const char* motion_name(RankMotion motion) {
  switch (motion) {
    case RankMotion::DidNotRun:
      return "did not run";
    case RankMotion::OnePlace:
      return "one place";
    case RankMotion::Moved:
      return "moved";
    case RankMotion::Unseen:
      break;
  }
  return "unseen";
}

}  // namespace

std::map<int, std::optional<SchedStats>> runs_of_ranks(
    const std::map<int, int>& ranks) {
  std::map<int, std::optional<SchedStats>> runs;
  for (const auto& [pid, rank] : ranks) {
    const auto now = read_task_runs(pid, pid);
    runs[pid] = now ? std::optional(*now) : std::nullopt;
  }
  return runs;
}

std::vector<RankOverTime> ranks_over_time(const RecordedProfile& recorded,
                                          const std::map<int, RankRuns>& runs) {
  std::map<int, RankOverTime> by_rank;
  for (const auto& [pid, rank] : recorded.ranks) {
    RankOverTime& one = by_rank[rank];
    one.rank = rank;
    const auto known = runs.find(pid);
    if (known != runs.end() && known->second.before &&
        known->second.before == known->second.after) {
      one.motion = RankMotion::DidNotRun;
    }
  }
  const auto mains = main_threads(recorded);
  for (const ProfileRun& run : recorded.profile.runs()) {
    const auto main = mains.find(run.thread);
    if (main == mains.end()) {
      continue;
    }
    RankOverTime& one = by_rank[main->second];
    if (one.motion == RankMotion::Unseen) {
      one.motion = RankMotion::OnePlace;
    } else if (one.motion == RankMotion::OnePlace && one.node != run.node) {
      one.motion = RankMotion::Moved;
    }
    one.node = run.node;
    one.samples += run.length;
  }
  std::vector<RankOverTime> all;
  for (const auto& [rank, one] : by_rank) {
    all.push_back(one);
  }
  return all;
}

std::string over_time_text(const RecordedProfile& recorded,
                           const std::map<int, RankRuns>& runs,
                           const Palette& palette) {
  const OverTimeTree all(recorded);
  std::string tree;
  for (const OverTimeRow& row : all.rows()) {
    tree += row_text(recorded, row);
  }
  return motion_lines(recorded, ranks_over_time(recorded, runs), palette) +
         (tree.empty()
              ? ""
              : palette.dim("     time  ranks        where") + "\n" + tree);
}

reports::RecordOver over_time_report(const RecordedProfile& recorded,
                                     const std::map<int, RankRuns>& runs) {
  reports::RecordOver report;
  report.recording = recording_report(recorded, "");
  for (const RankOverTime& one : ranks_over_time(recorded, runs)) {
    const bool at_one = one.motion == RankMotion::DidNotRun ||
                        one.motion == RankMotion::OnePlace;
    report.ranks.push_back(
        {one.rank, motion_name(one.motion),
         static_cast<std::int64_t>(one.samples),
         at_one && one.node != Profile::kRoot
             ? std::optional(over_place(recorded.profile, one.node))
             : std::nullopt});
  }
  const OverTimeTree all(recorded);
  for (const OverTimeRow& row : all.rows()) {
    reports::OverNode node{static_cast<std::int64_t>(row.depth),
                           over_place(recorded.profile, row.node),
                           {}};
    for (const auto& [rank, share] : row.shares) {
      node.ranks.push_back({rank, share});
    }
    report.tree.push_back(std::move(node));
  }
  return report;
}

}  // namespace hangdbg
