#include "base/sizes.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

TEST(Sizes, AsOneSaysThem) {
  EXPECT_EQ(human_size(0), "0 bytes");
  EXPECT_EQ(human_size(1023), "1023 bytes");
  EXPECT_EQ(human_size(1536), "1.5 KiB");
  EXPECT_EQ(human_size(64ULL << 20), "64 MiB");
  EXPECT_EQ(human_size(4ULL << 60), "4096 PiB");
}

}  // namespace
}  // namespace hangdbg
