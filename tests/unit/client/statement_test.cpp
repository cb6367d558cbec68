// Statements of several lines.
#include "client/prompt/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;

bool typed_goes_on(std::string_view text) {
  return goes_on(text, BlockEnd::EmptyLine);
}

bool pasted_goes_on(std::string_view text) {
  return goes_on(text, BlockEnd::HereIfWhole);
}

// What is run of these lines, in which order; what was left over last.
std::vector<std::string> statements(
    std::string_view text,
    Statement::Kind kind = Statement::Kind::Commands) {
  Statement statement;
  std::vector<std::string> found;
  for (const std::string_view line : split(text, '\n')) {
    if (auto whole = statement.add(line, Statement::Source::Typed, kind)) {
      found.push_back(*whole);
    }
  }
  if (auto rest = statement.take_rest()) {
    found.push_back("rest: " + *rest);
  }
  return found;
}

TEST(GoesOn, OpenBracketsStringsAndBackslashes) {
  for (const char* const text :
       {"x = [1,", "f(", "{'a': (1,\n 2)", "'''", "x = \"\"\"a\nb", "a = \\",
        "'a\\", "x = [1, # ]", "x = ['[', ']'", "f'''{x}"}) {
    EXPECT_TRUE(typed_goes_on(text)) << text;
    EXPECT_TRUE(pasted_goes_on(text)) << text;
  }
  for (const char* const text :
       {"", "x = 1", "x = [1,\n2]", "'''a\nb'''", "a = \\\n 1", "a = \\\n",
        "'a\\\nb'", "'never closed", "x)", "# [", "x = ':'", "'\\\\'", "'a\\b",
        "d = {1: 2}", "x[1:]", "class A: pass", "'a' # :"}) {
    EXPECT_FALSE(typed_goes_on(text)) << text;
    EXPECT_FALSE(pasted_goes_on(text)) << text;
  }
}

TEST(GoesOn, BlockUpToAnEmptyLine) {
  for (const char* const text :
       {"def f(v):", "def f(v):  # why", "def f(v):\n  return v",
        "@once\ndef f(): pass", "if x:\n  y\nelse:\n  z",
        "def f(\n  v):\n  return v", "def f():\n  '''a\n\nb'''"}) {
    EXPECT_TRUE(typed_goes_on(text)) << text;
    EXPECT_FALSE(typed_goes_on(std::string(text) + "\n")) << text;
    EXPECT_FALSE(typed_goes_on(std::string(text) + "\n  \t")) << text;
  }
}

TEST(GoesOn, PastedBlockUpToItsEnd) {
  EXPECT_TRUE(pasted_goes_on("def f(v):"));
  EXPECT_TRUE(pasted_goes_on("if x:\n  y\nelse:"));
  EXPECT_TRUE(pasted_goes_on("@once"));
  EXPECT_FALSE(pasted_goes_on("def f(v):\n  return v"));
  EXPECT_FALSE(pasted_goes_on("def f(v):\n\n  return v\n"));
}

TEST(Statement, CommandsAreLines) {
  EXPECT_THAT(statements("w\nb a.py:3, x == [\nalias x p [\nl 1, 2"),
              ElementsAre("w", "b a.py:3, x == [", "alias x p [", "l 1, 2"));
  EXPECT_THAT(statements("p [1,\n2]\nu"), ElementsAre("p [1,\n2]", "u"));
  EXPECT_THAT(statements("u ;; p (1,\n2)"), ElementsAre("u ;; p (1,\n2)"));
  EXPECT_THAT(statements("!for x in y:\n  x\n\nu"),
              ElementsAre("!for x in y:\n  x\n", "u"));
  EXPECT_THAT(statements("def f():\n  return 3"),
              ElementsAre("rest: def f():\n  return 3"));
}

TEST(Statement, InteractHasNoCommands) {
  EXPECT_THAT(statements("l = [\n1]\nalias [\n]", Statement::Kind::Python),
              ElementsAre("l = [\n1]", "alias [\n]"));
}

TEST(Statement, PasteIsOne) {
  Statement statement;
  EXPECT_EQ(statement.add("n", Statement::Source::PasteGoesOn,
                          Statement::Kind::Commands),
            std::nullopt);
  EXPECT_EQ(statement.add("", Statement::Source::PasteGoesOn,
                          Statement::Kind::Commands),
            std::nullopt);
  EXPECT_TRUE(statement.is_begun());
  EXPECT_EQ(
      statement.add("c", Statement::Source::Pasted, Statement::Kind::Commands),
      "n\n\nc");
  EXPECT_TRUE(statement.is_pasted());
  EXPECT_FALSE(statement.is_begun());
  EXPECT_EQ(
      statement.add("u", Statement::Source::Typed, Statement::Kind::Commands),
      "u");
  EXPECT_FALSE(statement.is_pasted());
}

TEST(Statement, HalfOfAPasteGoesOnByHand) {
  Statement statement;
  EXPECT_EQ(statement.add("x = [", Statement::Source::Pasted,
                          Statement::Kind::Commands),
            std::nullopt);
  statement.drop();
  EXPECT_FALSE(statement.is_begun());
  EXPECT_EQ(
      statement.add("u", Statement::Source::Typed, Statement::Kind::Commands),
      "u");
}

TEST(WithoutIndentation, OfAllLines) {
  EXPECT_EQ(without_indentation("  a\n    b\n\n  c"), "a\n  b\n\nc");
  EXPECT_EQ(without_indentation("a\n  b"), "a\n  b");
  EXPECT_EQ(without_indentation("    b\na"), "    b\na");
  EXPECT_EQ(without_indentation("\n  a"), "\na");
}

}  // namespace
}  // namespace hangdbg
