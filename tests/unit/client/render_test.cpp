// How output is rendered.
#include "client/terminal/render.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

TEST(ShortPath, FromTheLibraryOn) {
  EXPECT_EQ(short_path("/opt/conda/lib/python3.8/site-packages/torch/utils/"
                       "file_baton.py"),
            "torch/utils/file_baton.py");
  EXPECT_EQ(short_path("/usr/lib/python3/dist-packages/numpy/core.py"),
            "numpy/core.py");
  EXPECT_EQ(short_path("/usr/lib/python3.11/threading.py"), "threading.py");
  EXPECT_EQ(short_path("/opt/lib/python3.13t/concurrent/futures/thread.py"),
            "concurrent/futures/thread.py");
}

TEST(ShortPath, WholeElsewhere) {
  for (const char* const path :
       {"/home/ada/train.py", "train.py", "<string>", "", "/usr/lib/python3.11",
        "/usr/lib/python3.11.zip/threading.py"}) {
    EXPECT_EQ(short_path(path), path);
  }
}

TEST(PlaceText, AsPdbHasIt) {
  dap::StackFrame frame{.name = "wait",
                        .source = dap::Source{{}, "/home/ada/baton.py"},
                        .line = 42};
  EXPECT_EQ(place_text(frame), "/home/ada/baton.py(42)wait()");
  frame.name = "\x1b[2J";
  frame.source.reset();
  EXPECT_EQ(place_text(frame), "?(42)\\x1b[2J()");
}

class PaletteTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(file, nullptr); }
  void TearDown() override { std::fclose(file); }
  std::FILE* file = std::tmpfile();
};

TEST_F(PaletteTest, ColoursOnlyWhereTheyAreWanted) {
  EXPECT_EQ(Palette(ColourChoice::Auto, file).red("x"), "x");
  EXPECT_EQ(Palette(ColourChoice::Never, file).red("x"), "x");
  EXPECT_EQ(Palette(ColourChoice::Always, file).red("x"), "\x1b[31mx\x1b[0m");
}

TEST(Foreign, IsHarmlessButForLinesAndTabs) {
  EXPECT_EQ(foreign("\x1b[2J\a\r\xff\u009b"), "\\x1b[2J\\x07\\r\\xff\\u009b");
  EXPECT_EQ(foreign("a\tb\nc \u00e9"), "a\tb\nc \u00e9");
}

TEST(Report, CodeFollowsFromTheError) {
  testing::internal::CaptureStderr();
  const Palette plain(ColourChoice::Never, stderr);
  EXPECT_EQ(report({.id = ErrorId::NoSuchProcess,
                    .message = "no process 5\x1b",
                    .hint = "hangdbg ps"},
                   plain),
            2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "hangdbg: no process 5\\x1b\n  try: hangdbg ps\n");
}

// The streams of one call.
struct Reported {
  int code;
  std::string out, err;
};

Reported reported(const Error& error) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = report(error, Palette(ColourChoice::Never, stderr));
  return {code, testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

TEST(Report, TakesThePlaceOfAnAnswerInJson) {
  const Error error{
      .id = ErrorId::NoSuchProcess, .message = "no process 5", .hint = "ps"};
  answer_as_json();
  const Reported instead = reported(error);
  EXPECT_EQ(instead.code, 2);
  EXPECT_EQ(instead.out,
            R"({"error":{"type":"no-such-process","message":"no process 5",)"
            R"("hint":"ps"}})"
            "\n");
  EXPECT_EQ(instead.err, "");
  const Reported besides = reported(error);  // the document is out
  EXPECT_EQ(besides.code, 2);
  EXPECT_EQ(besides.out, "");
  EXPECT_EQ(besides.err, "hangdbg: no process 5\n  try: ps\n");
}

}  // namespace
}  // namespace hangdbg
