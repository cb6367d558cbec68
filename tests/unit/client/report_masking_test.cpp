// What a report masks, wherever it occurs.
#include "client/report/masking.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::string_view kToken = "t0ken \"of\" <ada>\nand more of it";

Masking with_token() {
  Masking masking;
  masking.learn_variable("WANDB_API_KEY", kToken);
  masking.learn_variable("HOME", "/home/ada");
  masking.learn_variable("DATABASE", "postgres://ada:w0nderful@host/x");
  masking.learn_words({"train.py", "--db-password", "hunter2222", "--pin-token",
                       "q7", "--lr", "0.1"});
  return masking;
}

TEST(ReportMasking, AsItIsAndAsOthersWriteIt) {
  const Masking masking = with_token();
  for (const std::string& form :
       {std::string(kToken), printable(kToken),
        std::string("t0ken &quot;of&quot; &lt;ada&gt;\nand more of it")}) {
    EXPECT_EQ(masking.text("a " + form + " b"), "a *** b") << form;
  }
  EXPECT_EQ(masking.text("a " + shell_quote(kToken) + " b"), "a '***' b");
  EXPECT_EQ(masking.text("at host with w0nderful"), "at host with ***");
  EXPECT_EQ(masking.text("hunter2222hunter2222"), "******");
}

TEST(ReportMasking, WhatIsNotSecretStays) {
  const Masking masking = with_token();
  const std::string text = "/home/ada/train.py --lr 0.1 at host, q77, 7q7";
  EXPECT_EQ(masking.text(text), text);
  EXPECT_EQ(masking.text(""), "");
  EXPECT_EQ(Masking().text(text), text);
}

TEST(ReportMasking, ShortOnesBehindTheirOption) {
  const Masking masking = with_token();
  EXPECT_EQ(masking.text("train.py --pin-token q7 --lr"),
            "train.py --pin-token *** --lr");
}

TEST(ReportMasking, TextThatEndsInTheMiddleOfOne) {
  EXPECT_EQ(with_token().text("x = 't0ken \"of\" <ada>\nan...'"),
            "x = '***...'");
}

TEST(ReportMasking, APathIsMaskedAsAWholeOnly) {
  Masking masking;
  masking.learn_variable("DEPLOY_KEY", "/home/ada/.ssh/deploy");
  EXPECT_EQ(masking.text("/home/ada/.ssh/deploy"), "***");
  EXPECT_EQ(masking.text("/home/ada/.ssh/depl"), "/home/ada/.ssh/depl");
}

TEST(ReportMasking, InJsonTheStringsAlone) {
  Masking masking;
  masking.learn_variable("API_KEY", "123456789012");
  const auto json = Json::parse(
      R"({"n": 123456789012, "s": ["x", "a 123456789012"], "w": ["--token", "ab"]})");
  ASSERT_TRUE(json);
  EXPECT_EQ(masking.json(*json).dump(),
            R"({"n":123456789012,"s":["x","a ***"],"w":["--token","***"]})");
}

}  // namespace
}  // namespace hangdbg
