// The causes' names, which scripts read.
#include "diagnosis/snapshot/cause_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/support/source_folder.h"

namespace hangdbg {
namespace {

TEST(CauseId, HasItsOwnName) {
  EXPECT_EQ(cause_name(CauseId::StaleLockFile), "stale-lock-file");
  EXPECT_EQ(cause_name(CauseId::AsyncioBlocked), "asyncio-blocked");
  for (int id = 1; id <= static_cast<int>(CauseId::WriterGone); ++id) {
    EXPECT_LT(cause_name(static_cast<CauseId>(id - 1)),
              cause_name(static_cast<CauseId>(id)));
  }
}

TEST(CauseId, IsInTheTableOfTheDocs) {
  std::stringstream text;
  text << std::ifstream(source_folder() + "/docs/diagnose.md").rdbuf();
  const std::string docs = text.str();
  ASSERT_FALSE(docs.empty());
  for (int id = 0; id <= static_cast<int>(CauseId::WriterGone); ++id) {
    const std::string name(cause_name(static_cast<CauseId>(id)));
    EXPECT_NE(docs.find("`" + name + "`"), docs.npos) << name;
  }
}

}  // namespace
}  // namespace hangdbg
