// The causes' names, which scripts read, and that each has its tests.
#include "diagnosis/snapshot/cause_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/support/source_folder.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

std::string read_file(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// All tests below a folder whose names end so, without this one and the one for
// the order of the rules.
std::string tests_below(const std::string& folder, std::string_view end) {
  std::string text;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(source_folder()) / folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(end) && !name.starts_with("cause_id_") &&
        !name.starts_with("causes_order_")) {
      text += read_file(entry.path());
    }
  }
  return text;
}

// "StaleLockFile" of "stale-lock-file".
std::string enumerator(std::string_view name) {
  std::string found;
  bool begins = true;
  for (const char letter : name) {
    if (letter != '-') {
      found += begins ? static_cast<char>(std::toupper(letter)) : letter;
    }
    begins = letter == '-';
  }
  return found;
}

bool has_word(const std::string& text, const std::string& word) {
  for (auto at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    const char next =
        at + word.size() < text.size() ? text[at + word.size()] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) == 0) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (int id = 0; id <= static_cast<int>(CauseId::WriterGone); ++id) {
    names.emplace_back(cause_name(static_cast<CauseId>(id)));
  }
  return names;
}

TEST(CauseId, HasAUnitTestOnAMadeUpProcess) {
  const std::string tests = tests_below("tests/unit/diagnosis", "_test.cpp");
  std::vector<std::string> without;
  std::ranges::copy_if(
      all_names(), std::back_inserter(without), [&](const std::string& name) {
        return !has_word(tests, "CauseId::" + enumerator(name));
      });
  EXPECT_THAT(without, IsEmpty());
}

TEST(CauseId, HasARealProgram) {
  const std::string tests = tests_below("tests/integration", ".py");
  std::vector<std::string> without;
  std::ranges::copy_if(all_names(), std::back_inserter(without),
                       [&](const std::string& name) {
                         return !tests.contains('"' + name + '"') &&
                                !tests.contains('\'' + name + '\'');
                       });
  EXPECT_THAT(without, IsEmpty());
}

TEST(CauseId, HasItsOwnName) {
  EXPECT_EQ(cause_name(CauseId::StaleLockFile), "stale-lock-file");
  EXPECT_EQ(cause_name(CauseId::AsyncioBlocked), "asyncio-blocked");
  for (int id = 1; id <= static_cast<int>(CauseId::WriterGone); ++id) {
    EXPECT_LT(cause_name(static_cast<CauseId>(id - 1)),
              cause_name(static_cast<CauseId>(id)));
  }
}

TEST(CauseId, IsInTheTableOfTheDocs) {
  const std::string docs = read_file(source_folder() + "/docs/diagnose.md");
  ASSERT_FALSE(docs.empty());
  for (const std::string& name : all_names()) {
    EXPECT_NE(docs.find("`" + name + "`"), docs.npos) << name;
  }
}

}  // namespace
}  // namespace hangdbg
