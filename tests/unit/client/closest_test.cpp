// The word that was probably meant.
#include "client/options/closest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hangdbg {
namespace {

TEST(Closest, CountsEdits) {
  EXPECT_EQ(edits_between("dump", "dump"), 0U);
  EXPECT_EQ(edits_between("dmup", "dump"), 1U);     // swapped
  EXPECT_EQ(edits_between("atach", "attach"), 1U);  // left out
  EXPECT_EQ(edits_between("evall", "eval"), 1U);    // added
  EXPECT_EQ(edits_between("poek", "peek"), 1U);     // changed
  EXPECT_EQ(edits_between("", "ps"), 2U);
  EXPECT_EQ(edits_between("kitten", "sitting"), 3U);
}

TEST(Closest, IsTheOneWithTheFewestEdits) {
  const std::vector<std::string> words = {"dump",     "diff",   "dist",
                                          "diagnose", "doctor", "ps"};
  EXPECT_EQ(closest("dmup", words), "dump");
  EXPECT_EQ(closest("diagose", words), "diagnose");
  EXPECT_EQ(closest("dits", words), "dist");
  EXPECT_EQ(closest("ps", words), "ps");
}

TEST(Closest, IsTheOnlyOneThatBeginsSo) {
  const std::vector<std::string> words = {"diagnose", "dist", "doctor"};
  EXPECT_EQ(closest("diag", words), "diagnose");
  EXPECT_EQ(closest("di", words), std::nullopt);  // two do
}

TEST(Closest, IsNoneThatIsFarAway) {
  const std::vector<std::string> words = {"dump", "ps"};
  EXPECT_EQ(closest("frobnicate", words), std::nullopt);
  EXPECT_EQ(closest("x", words), std::nullopt);
  EXPECT_EQ(closest("", words), std::nullopt);
  EXPECT_EQ(closest(std::string(10000, 'd'), words), std::nullopt);
}

}  // namespace
}  // namespace hangdbg
