// A line typed at the prompt, parsed.
#include "server/session/pdb_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "client/prompt/command.h"
#include "client/prompt/completion.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TypedCommand parse(std::string_view text) {
  return parse_command(text, word_kind);
}

MATCHER_P2(Is, name, argument, "") {
  *result_listener << "{\"" << arg.name << "\", \"" << arg.argument << "\"}";
  return arg.name == name && arg.argument == argument;
}

TEST(SplitCommands, AtDoubleSemicolons) {
  EXPECT_THAT(split_commands("u"), ElementsAre("u"));
  EXPECT_THAT(split_commands(" u ;; p x;;l\n"), ElementsAre("u", "p x", "l"));
  EXPECT_THAT(split_commands("x = 1; y = 2"), ElementsAre("x = 1; y = 2"));
  EXPECT_THAT(split_commands(";;;; u ;;"), ElementsAre("u"));
  EXPECT_THAT(split_commands(""), IsEmpty());
  EXPECT_THAT(split_commands("  \n"), IsEmpty());
}

TEST(SplitCommands, NotInsideStrings) {
  EXPECT_THAT(split_commands("p 'a;;b' ;; p \"c;;d\""),
              ElementsAre("p 'a;;b'", "p \"c;;d\""));
  EXPECT_THAT(split_commands(R"(p 'it\'s;;' ;; u)"),
              ElementsAre(R"(p 'it\'s;;')", "u"));
  EXPECT_THAT(split_commands(R"(p """a"b;;c""" ;; u)"),
              ElementsAre(R"(p """a"b;;c""")", "u"));
  EXPECT_THAT(split_commands("p '' ;; u"), ElementsAre("p ''", "u"));
  EXPECT_THAT(split_commands(R"(p "'" ;; u)"), ElementsAre(R"(p "'")", "u"));
  EXPECT_THAT(split_commands("p 'never closed ;; u"),
              ElementsAre("p 'never closed ;; u"));
  EXPECT_THAT(split_commands("p 'ends with \\"),
              ElementsAre("p 'ends with \\"));
}

TEST(ParseCommand, NamesAndArguments) {
  EXPECT_THAT(parse("w"), Is("w", ""));
  EXPECT_THAT(parse("  up 2 "), Is("up", "2"));
  EXPECT_THAT(parse("p self.x + 1"), Is("p", "self.x + 1"));
  EXPECT_THAT(parse("p\tx"), Is("p", "x"));
  EXPECT_THAT(parse("l 1, 2"), Is("l", "1, 2"));
  EXPECT_THAT(parse("l ."), Is("l", "."));
  EXPECT_THAT(parse("thread worker 1"), Is("thread", "worker 1"));
  EXPECT_THAT(parse("?"), Is("help", ""));
  EXPECT_THAT(parse("? p"), Is("help", "p"));
}

TEST(ParseCommand, TheRestIsPython) {
  EXPECT_THAT(parse("self.lock"), Is("", "self.lock"));
  EXPECT_THAT(parse("print(1)"), Is("", "print(1)"));
  EXPECT_THAT(parse("where_it_is"), Is("", "where_it_is"));
  EXPECT_THAT(parse("(1, 2)"), Is("", "(1, 2)"));
  EXPECT_THAT(parse("!p"), Is("", "p"));
  EXPECT_THAT(parse("! l = 3"), Is("", "l = 3"));
  EXPECT_THAT(parse(""), Is("", ""));
}

TEST(ParseCommand, VariablesThatAreCalledAsCommands) {
  EXPECT_THAT(parse("l = [1]"), Is("", "l = [1]"));
  EXPECT_THAT(parse("a += 1"), Is("", "a += 1"));
  EXPECT_THAT(parse("a >>= 1"), Is("", "a >>= 1"));
  EXPECT_THAT(parse("a.b"), Is("", "a.b"));
  EXPECT_THAT(parse("l[0]"), Is("", "l[0]"));
  EXPECT_THAT(parse("a(1)"), Is("", "a(1)"));
  // p takes an expression, which may begin so.
  EXPECT_THAT(parse("p(x)"), Is("p", "(x)"));
  EXPECT_THAT(parse("p -x"), Is("p", "-x"));
  EXPECT_THAT(parse("p *x, y"), Is("p", "*x, y"));
  EXPECT_THAT(parse("p x == y"), Is("p", "x == y"));
  EXPECT_THAT(parse("p == 3"), Is("p", "== 3"));
  EXPECT_THAT(parse("a >= 3"), Is("a", ">= 3"));
}

TEST(ParseCommand, PdbsOtherCommandsAreKnownAsSuch) {
  for (const char* const name : {"restart", "run"}) {
    EXPECT_THAT(parse(name), Is(name, ""));
    EXPECT_TRUE(is_promised(name)) << name;
    EXPECT_EQ(find_command(name), nullptr) << name;
  }
  EXPECT_FALSE(is_promised("p"));
  EXPECT_FALSE(is_promised("self"));
}

TEST(Commands, EachNameIsOneCommands) {
  std::set<std::string_view> seen;
  for (const Command* const command : all_commands()) {
    for (const std::string_view name : command->names) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      EXPECT_EQ(find_command(name), command) << name;
      EXPECT_FALSE(is_promised(name)) << name;
    }
    EXPECT_FALSE(command->help.empty());
  }
  for (const char* const name :
       {"w",    "where", "bt",     "u",      "up",      "d",
        "down", "p",     "pp",     "l",      "list",    "ll",
        "a",    "args",  "whatis", "source", "threads", "thread",
        "!",    "h",     "help",   "q",      "exit",    "detach"}) {
    EXPECT_TRUE(seen.contains(name)) << name;
  }
}

TEST(CommonPrefix, EndsBetweenCharacters) {
  EXPECT_EQ(common_prefix({"answer"}), "answer");
  EXPECT_EQ(common_prefix({"lock_file", "lock_path", "lock_"}), "lock_");
  EXPECT_EQ(common_prefix({"a", "b"}), "");
  EXPECT_EQ(common_prefix({}), "");
  EXPECT_EQ(common_prefix({"x\u00e4", "x\u00f6"}), "x");  // 2 bytes, 1 alike
}

}  // namespace
}  // namespace hangdbg
