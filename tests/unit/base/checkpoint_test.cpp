#include "base/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/support/source_folder.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAreArray;

// The names that the injector's source passes, as often as it says them.
std::vector<std::string> passed() {
  const std::regex call("checkpoint\\(\"([^\"]*)\"\\)");
  std::vector<std::string> names;
  for (const auto& file :
       fs::recursive_directory_iterator(source_folder() + "/injector")) {
    if (file.path().extension() != ".cpp") {
      continue;
    }
    std::ifstream stream(file.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), call), end;
         at != end; ++at) {
      names.push_back((*at)[1]);
    }
  }
  return names;
}

TEST(Checkpoints, AreThosePassedEachInOnePlace) {
  std::vector<std::string_view> all(checkpoint_names().begin(),
                                    checkpoint_names().end());
  all.insert(all.end(), hold_checkpoint_names().begin(),
             hold_checkpoint_names().end());
  EXPECT_THAT(passed(), UnorderedElementsAreArray(all));
}

TEST(Checkpoints, HaveNamesOfTheirOwn) {
  const auto names = checkpoint_names();
  const std::set<std::string_view> distinct(names.begin(), names.end());
  EXPECT_EQ(distinct.size(), names.size());
  EXPECT_FALSE(distinct.contains(""));
}

}  // namespace
}  // namespace hangdbg
