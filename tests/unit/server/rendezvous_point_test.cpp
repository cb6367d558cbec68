#include "server/rank_breakpoints/rendezvous_point.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

dap::ProcessGroups::Body said(std::vector<std::int64_t> sequences) {
  dap::ProcessGroups::Body body;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    dap::ProcessGroups::Group group;
    group.name = std::to_string(i);
    group.device = "cpu";
    group.sequence = sequences[i];
    body.groups.push_back(group);
  }
  return body;
}

TEST(MeetingPlace, IsInGroupsThatAllAreIn) {
  EXPECT_EQ(common_groups({said({4, 9}), said({5})}),
            (CommonGroups{{{"0", "cpu"}, 5}}));
  EXPECT_TRUE(common_groups({said({4}), said({900})}).empty())
      << "they count differently";
  EXPECT_TRUE(common_groups({said({4}), {}}).empty());
  EXPECT_TRUE(rendezvous_point({}, {}).empty());
}

TEST(MeetingPlace, IsFartherWhereTheyGoFaster) {
  const CommonGroups before = {{{"0", "cpu"}, 1}, {{"1", "cpu"}, 40}};
  const CommonGroups now = {{{"0", "cpu"}, 1}, {{"1", "cpu"}, 43}};
  const auto place = rendezvous_point(before, now);
  ASSERT_EQ(place.size(), 2);
  EXPECT_EQ(place[0].group, "0");
  EXPECT_EQ(place[0].device, "cpu");
  EXPECT_EQ(place[0].number, 2);
  EXPECT_EQ(place[1].number, 43 + 1 + 4 * 3);
}

TEST(MeetingPlace, IsAheadUntilOneIsThere) {
  const CommonGroups now = {{{"0", "cpu"}, 1}, {{"1", "cpu"}, 43}};
  const auto place = rendezvous_point(now, now);
  EXPECT_TRUE(is_ahead(place, now));
  EXPECT_FALSE(is_ahead(place, {{{"0", "cpu"}, 1}, {{"1", "cpu"}, 44}}));
  EXPECT_TRUE(is_ahead(place, {{{"0", "cpu"}, 1}})) << "it was destroyed";
  EXPECT_TRUE(is_ahead(never(now), {{{"1", "cpu"}, 1000000}}));
}

}  // namespace
}  // namespace hangdbg
