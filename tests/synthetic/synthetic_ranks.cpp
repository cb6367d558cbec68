// Merges the stacks of ranks that do not exist, and says what that took:
//
//   synthetic_ranks RANKS FRAMES WAYS [show|svg|html]
//
// Most ranks are in one way; one in a thousand is in another of WAYS, which
// leave it at different heights. Times are of one CPU, in seconds; the others
// print the tree instead.
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "client/views/dump/picture.h"
#include "client/views/dump/tree.h"
#include "inspector/jobs/stack_tree.h"

namespace {

using namespace hangdbg;
using Clock = std::chrono::steady_clock;
using Way = std::vector<StackMerger::Place>;

// Ranks differ by a rule, so that each run is the same.
int way_of(int rank, int ways) {
  const unsigned hash = static_cast<unsigned>(rank) * 2654435761U >> 8;
  return hash % 1000 == 0 ? 1 + static_cast<int>(hash / 1000) % (ways - 1) : 0;
}

// Where the others leave the first one depends on their number.
Way make_way(StackMerger& merger, int number, int frames) {
  Way way;
  const int fork = number == 0 ? frames : frames * number / (number + 3);
  for (int level = 0; level < frames; ++level) {
    const bool own = level >= fork;
    way.push_back(merger.place(
        {own ? fmt::format("Loader{}.read_{}", number, level)
             : fmt::format("Trainer.step_{}", level),
         own ? "/srv/train/data.py" : "/srv/train/train.py", 10 + level}));
  }
  return way;
}

double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: synthetic_ranks RANKS FRAMES WAYS [show|svg|html]\n");
    return 2;
  }
  const int ranks = std::atoi(argv[1]), frames = std::atoi(argv[2]);
  const int ways = std::max(2, std::atoi(argv[3]));
  const auto begun = Clock::now();
  StackMerger merger;
  std::vector<Way> all;
  for (int number = 0; number < ways; ++number) {
    all.push_back(make_way(merger, number, frames));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const int node =
        merger.add(rank, all[static_cast<std::size_t>(way_of(rank, ways))]);
    merger.add_main(rank, node, "asleep in futex for 3 min", false);
  }
  const StackTree tree = merger.finish();
  const auto merged = Clock::now();
  const std::string_view how = argc > 4 ? argv[4] : "";
  if (how == "svg" || how == "html") {
    const TreeLabels labels{TreeLabels::Members::Ranks};
    const Picture picture{
        tree, labels, fmt::format("{} synthetic ranks", ranks), {}};
    fmt::print("{}",
               how == "svg" ? picture_svg(picture) : picture_html(picture));
    return 0;
  }
  const std::string text =
      tree_text(tree, {TreeLabels::Members::Ranks}, DumpStyle{.sysroot = {}},
                Palette(ColourChoice::Never, stdout));
  const auto shown = Clock::now();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  if (how == "show") {
    fmt::print("{}", text);
    return 0;
  }
  fmt::print(
      "{{\"ranks\": {}, \"frames\": {}, \"merge_s\": {:.4f}, \"render_s\": "
      "{:.4f}, \"peak_mib\": {:.0f}, \"classes\": {}, \"text_bytes\": {}}}\n",
      ranks, frames, seconds(begun, merged), seconds(merged, shown),
      static_cast<double>(usage.ru_maxrss) / 1024, tree.classes.size(),
      text.size());
}
