#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

TEST(Text, PrintableLeavesTextAlone) {
  EXPECT_EQ(printable("p self.lock_file_path"), "p self.lock_file_path");
  EXPECT_EQ(printable("C:\\x"), "C:\\x");
  EXPECT_EQ(printable("файл 文件 🦀"), "файл 文件 🦀");
}

TEST(Text, PrintableEscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\0b"sv), "a\\x00b");
  EXPECT_EQ(printable("a\r\n\tb\x7f"), "a\\r\\n\\tb\\x7f");
  EXPECT_EQ(printable("\u009b31m"), "\\u009b31m");
  EXPECT_EQ(printable("user\u202e"), "user\\u202e");
}

TEST(Text, PrintableKeepsLinesWhenAsked) {
  EXPECT_EQ(printable("a\n\tb\rc", Lines::Keep), "a\n\tb\\rc");
}

TEST(Text, PrintableShowsBadUtf8AsBytes) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Text, ToUtf8ReplacesBadBytes) {
  EXPECT_EQ(to_utf8("a\xff"
                    "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(to_utf8("файл\n"), "файл\n");
  EXPECT_EQ(to_utf8("\xe2\x82"), "\uFFFD\uFFFD");
}

TEST(Text, HumanDuration) {
  EXPECT_EQ(human_duration(-1s), "0 µs");
  EXPECT_EQ(human_duration(950us), "950 µs");
  EXPECT_EQ(human_duration(6ms), "6 ms");
  EXPECT_EQ(human_duration(1s), "1.0 s");
  EXPECT_EQ(human_duration(3260ms), "3.2 s");
  EXPECT_EQ(human_duration(59999ms), "59.9 s");
  EXPECT_EQ(human_duration(60s), "1 min");
  EXPECT_EQ(human_duration(250s), "4 min 10 s");
  EXPECT_EQ(human_duration(1h), "1 h");
  EXPECT_EQ(human_duration(1h + 52min + 59s), "1 h 52 min");
  EXPECT_EQ(human_duration(51h), "2 d 3 h");
}

TEST(Text, ShellQuoteQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shell_quote("/usr/bin/python3"), "/usr/bin/python3");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_quote(std::vector<std::string>{"python3", "-c", "f(1)"}),
            "python3 -c 'f(1)'");
}

TEST(Text, Trim) {
  EXPECT_EQ(trim("  a b\t\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, Split) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split("a,", ','), ElementsAre("a", ""));
}

TEST(Text, SplitWords) {
  EXPECT_THAT(split_words("  a \t b\n"), ElementsAre("a", "b"));
  EXPECT_THAT(split_words(" "), IsEmpty());
}

TEST(Text, ParseNumberTakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<int>("7f", 16), 0x7f);
  EXPECT_EQ(parse_number<int>("12x"), std::nullopt);
  EXPECT_EQ(parse_number<int>(" 12"), std::nullopt);
  EXPECT_EQ(parse_number<int>(""), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<std::int8_t>("128"), std::nullopt);
}

}  // namespace
}  // namespace hangdbg
