// Sets of ranks, and the values of --ranks.
#include "inspector/ranks/rank_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace hangdbg {
namespace {

RankSet set_of(const std::vector<int>& ranks) {
  RankSet set;
  for (const int rank : ranks) {
    set.add(rank);
  }
  return set;
}

TEST(RankSetTest, IsWrittenAsRanges) {
  EXPECT_EQ(set_of({}).text(), "");
  EXPECT_EQ(set_of({7}).text(), "7");
  EXPECT_EQ(set_of({0, 1, 2, 3, 9}).text(), "0-3,9");
  EXPECT_EQ(set_of({0, 1}).text(), "0,1");
  EXPECT_EQ(set_of({0, 2, 4, 6}).text(2), "0,2,...");
}

TEST(RankSetTest, IsTheSameInAnyOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::set<int> all;
    RankSet set;
    for (int i = 0; i < 60; ++i) {
      const int rank = static_cast<int>(random() % 80);
      all.insert(rank);
      set.add(rank);
    }
    ASSERT_EQ(set.numbers(), std::vector<int>(all.begin(), all.end()));
    ASSERT_EQ(set.size(), all.size());
    ASSERT_TRUE(set == set_of({all.begin(), all.end()}));
    for (int rank = 0; rank < 80; ++rank) {
      ASSERT_EQ(set.contains(rank), all.contains(rank));
    }
    for (std::size_t i = 1; i < set.ranges().size(); ++i) {
      ASSERT_GT(set.ranges()[i].first, set.ranges()[i - 1].last + 1);
    }
  }
}

TEST(RankChoiceTest, TakesWhatCliMdSays) {
  const auto chosen = [](std::string_view text) {
    const auto choice = RankChoice::parse(text);
    std::vector<int> ranks;
    for (int rank = 0; choice && rank < 8; ++rank) {
      if (choice->includes(rank)) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  };
  EXPECT_EQ(chosen("0"), std::vector({0}));
  EXPECT_EQ(chosen("0,3-5"), std::vector({0, 3, 4, 5}));
  EXPECT_EQ(chosen("!0"), std::vector({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(chosen("all").size(), 8);
}

TEST(RankChoiceTest, RefusesTheRest) {
  for (const char* text : {"", "x", "1-", "-1", "3-1", "0,,1", "0-99999999999",
                           "0-99999999", "!", "1 2", "+1"}) {
    EXPECT_FALSE(RankChoice::parse(text)) << text;
  }
}

}  // namespace
}  // namespace hangdbg
