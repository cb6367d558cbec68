// Line tables by hand; python_stack_test has those that interpreters make.
#include "inspector/cpython/layout/line_table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace hangdbg {
namespace {

std::vector<std::byte> table(std::initializer_list<int> bytes) {
  std::vector<std::byte> made;
  for (const int byte : bytes) {
    made.push_back(static_cast<std::byte>(byte));
  }
  return made;
}

TEST(LineTable, Lnotab) {
  // As Objects/lnotab_notes.txt has it: 0:1, 6:2, 50:7, 350:307, 361:308.
  const auto lines =
      table({0, 1, 6, 1, 44, 5, 255, 0, 45, 127, 0, 127, 0, 46, 11, 1});
  EXPECT_EQ(line_at(lines, 8, 0, 0), 1);
  EXPECT_EQ(line_at(lines, 8, 0, 5), 1);
  EXPECT_EQ(line_at(lines, 8, 0, 6), 2);
  EXPECT_EQ(line_at(lines, 8, 0, 50), 7);
  EXPECT_EQ(line_at(lines, 8, 0, 349), 7);
  EXPECT_EQ(line_at(lines, 8, 0, 350), 307);
  EXPECT_EQ(line_at(lines, 8, 0, 361), 308);
  EXPECT_EQ(line_at(table({2, 10, 2, 0xf6}), 8, 5, 4), 5);  // ten back
}

TEST(LineTable, Ranges) {
  const auto lines = table({4, 1, 4, 0x80, 4, 0xff});
  EXPECT_EQ(line_at(lines, 10, 7, 0), 8);
  EXPECT_EQ(line_at(lines, 10, 7, 4), 0);  // no line
  EXPECT_EQ(line_at(lines, 10, 7, 8), 7);
  EXPECT_EQ(line_at(lines, 10, 7, 12), 0);  // past the end
}

TEST(LineTable, Locations) {
  const auto lines = table({
      0x80 | 11 << 3 | 1, 0, 0,     // two units, one line on
      0x80 | 15 << 3,               // one unit, no line
      0x80 | 13 << 3, 0x40 | 2, 5,  // one unit: 5 * 64 + 2, that is 161 on
      0x80 | 14 << 3, 3, 0, 0, 0,   // one unit, one back
      0x80 | 0 << 3 | 7, 0,         // eight units, the same line
  });
  EXPECT_EQ(line_at(lines, 11, 7, 0), 8);
  EXPECT_EQ(line_at(lines, 12, 7, 3), 8);
  EXPECT_EQ(line_at(lines, 13, 7, 4), 0);
  EXPECT_EQ(line_at(lines, 14, 7, 6), 169);
  EXPECT_EQ(line_at(lines, 11, 7, 8), 168);
  EXPECT_EQ(line_at(lines, 11, 7, 24), 168);
  EXPECT_EQ(line_at(lines, 11, 7, 26), 0);
}

TEST(LineTable, ThatMakesNoSense) {
  for (const int minor : {7, 10, 11}) {
    EXPECT_EQ(line_at({}, minor, 7, -2), 7);
    EXPECT_EQ(line_at({}, minor, -5, 0), 0);
  }
  EXPECT_EQ(line_at({}, 8, 7, 0), 7);
  EXPECT_EQ(line_at({}, 10, 7, 0), 0);
  EXPECT_EQ(line_at(table({4}), 10, 7, 0), 0);     // half a pair
  EXPECT_EQ(line_at(table({1, 2}), 11, 7, 0), 0);  // no entry starts here
  EXPECT_EQ(line_at(table({0x80 | 13 << 3}), 11, 7, 0), 0);  // no number
  const auto endless = table({0x80 | 13 << 3, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
                              0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1});
  EXPECT_EQ(line_at(endless, 11, 7, 0), 0);
}

}  // namespace
}  // namespace hangdbg
