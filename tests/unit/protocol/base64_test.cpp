#include "protocol/base64.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

TEST(Base64, IsWhatTheRfcShows) {
  const std::pair<std::string_view, std::string_view> samples[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : samples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, HasEachByte) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
}

TEST(Base64, RefusesTheRest) {
  for (const char* const text : {"Z", "Zg", "Zg=", "Zg===", "=", "====", "Zh==",
                                 "Zm9=", "Zm 8=", "Zm8=\n", "Zm8=Zm8="}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

}  // namespace
}  // namespace hangdbg
