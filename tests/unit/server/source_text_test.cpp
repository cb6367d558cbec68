// The target's source files, here this process's.
#include "server/session/source_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hangdbg {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(SourceLines, AsPythonCountsThem) {
  EXPECT_THAT(source_lines("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(source_lines("a\r\nb\rc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(source_lines("\n\nx"), ElementsAre("", "", "x"));
  EXPECT_THAT(source_lines(""), IsEmpty());
}

TEST(SourceLines, AreFitForATerminal) {
  EXPECT_THAT(source_lines("\tx = '\x1b[2J'\n"),
              ElementsAre("\tx = '\\x1b[2J'"));
}

class SourceTextTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/source_text_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
    before = fs::current_path();
    fs::current_path(folder);
  }
  void TearDown() override {
    fs::current_path(before);
    fs::remove_all(folder);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  }

  fs::path folder;
  fs::path before;
  SourceText sources{::getpid()};
};

TEST_F(SourceTextTest, ReadsAbsoluteAndRelativeNames) {
  write("x.py", "one\n  two  \n");
  EXPECT_THAT(sources.lines(folder / "x.py"), ElementsAre("one", "  two  "));
  EXPECT_THAT(sources.lines("x.py"), ElementsAre("one", "  two  "));
  EXPECT_EQ(sources.line("x.py", 2), "two");
}

TEST_F(SourceTextTest, FollowsLinks) {
  write("x.py", "one\n");
  fs::create_symlink(folder / "x.py", folder / "absolute");
  fs::create_symlink("x.py", folder / "relative");
  EXPECT_THAT(sources.lines("absolute"), ElementsAre("one"));
  EXPECT_THAT(sources.lines("relative"), ElementsAre("one"));
}

TEST_F(SourceTextTest, NothingForWhatCannotBeRead) {
  ASSERT_EQ(::mkfifo("fifo", 0600), 0);
  for (const char* const name :
       {"", "<string>", "<frozen importlib._bootstrap>", "missing.py", "fifo",
        "/dev/zero", "/proc", "."}) {
    EXPECT_THAT(sources.lines(name), IsEmpty()) << name;
  }
  EXPECT_EQ(sources.line("missing.py", 1), std::nullopt);
}

TEST_F(SourceTextTest, LinesThatAreNotThere) {
  write("x.py", "one\n");
  for (const std::int64_t number : {-1, 0, 2}) {
    EXPECT_EQ(sources.line("x.py", number), std::nullopt) << number;
  }
}

TEST(SourceText, NothingOfAProcessThatIsGone) {
  const int gone = ::fork();
  if (gone == 0) {
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  SourceText sources(gone);
  EXPECT_THAT(sources.lines("/etc/passwd"), IsEmpty());
  EXPECT_THAT(sources.lines("passwd"), IsEmpty());
}

}  // namespace
}  // namespace hangdbg
