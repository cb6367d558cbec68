// The archive of a report: hangdbg's own bytes, and untrusted ones.
// (tests/integration/look/test_report.py checks that tar(1) reads it.)
#include "client/report/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hangdbg {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMost = 1 << 20;

std::vector<ArchivedFile> some_files() {
  return {{"r/README.md", "a"},
          {"r/empty", ""},
          {"r/block", std::string(512, 'x')},
          {"r/more", std::string(513, 'y')}};
}

std::string packed(const std::vector<ArchivedFile>& files) {
  return *pack(files, 1'700'000'000);
}

TEST(ReportArchive, IsReadAsItWasWritten) {
  const auto back = unpack(packed(some_files()), kMost);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 4U);
  for (std::size_t i = 0; i < back->size(); ++i) {
    EXPECT_EQ((*back)[i].name, some_files()[i].name);
    EXPECT_EQ((*back)[i].text, some_files()[i].text);
  }
  EXPECT_TRUE(is_gzip(packed(some_files())));
}

TEST(ReportArchive, IsTheSameForTheSame) {
  EXPECT_EQ(packed(some_files()), packed(some_files()));
}

TEST(ReportArchive, IsRefusedWhereItUnpacksToTooMuch) {
  const auto bomb = packed({{"zeros", std::string(50 << 20, '\0')}});
  EXPECT_LT(bomb.size(), kMost);
  const auto back = unpack(bomb, kMost);
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().message, HasSubstr("more than 1 MB"));
}

TEST(ReportArchive, IsRefusedAtEachLengthThatIsNotTheWhole) {
  const auto whole = packed(some_files());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(unpack(std::string_view(whole).substr(0, size), kMost))
        << size;
  }
}

// gzip has a checksum of its bytes.
TEST(ReportArchive, WithWrongBytesIsRefusedOrTheSame) {
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string whole = packed(some_files());
    for (int j = 0; j < 3; ++j) {
      whole[random() % whole.size()] = static_cast<char>(random());
    }
    const auto back = unpack(whole, kMost);
    refused += back ? 0 : 1;
    EXPECT_TRUE(!back || back->front().text == "a");
  }
  EXPECT_GT(refused, 1000);
}

TEST(ReportArchive, IsNothingElse) {
  EXPECT_FALSE(unpack("", kMost));
  EXPECT_FALSE(unpack("PK\x03\x04", kMost));
}

}  // namespace
}  // namespace hangdbg
