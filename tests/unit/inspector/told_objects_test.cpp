#include "inspector/cpython/layout/told_objects.h"

#include <gtest/gtest.h>

#include "tests/unit/support/made_up_unknown.h"

namespace hangdbg {
namespace {

// Of 3.14, with the places of a later patch release.
constexpr std::size_t kModules = 12;  // imports_modules, among the words
constexpr std::uint64_t kRowsModules = 7688;

MadeUpUnknown of_314(std::uint64_t modules) {
  MadeUpUnknown python;
  python.words[1] = 0x030e05f0;
  python.words[kModules] = modules;
  return python;
}

Result<ObjectLayout> told_by(const MadeUpUnknown& python) {
  return with_told_offsets(python.memory(), MadeUpUnknown::kRuntime,
                           *object_layout(14, false));
}

TEST(ToldObjects, AreAsTheRowWhereItIsOfThatRelease) {
  const auto told = told_by(of_314(kRowsModules));
  ASSERT_TRUE(told) << told.error().text();
  const ObjectLayout& row = *object_layout(14, false);
  EXPECT_TRUE(fits(*told, row));
  EXPECT_EQ(told->interpreter_modules, row.interpreter_modules);
  EXPECT_EQ(told->interpreter_tasks, row.interpreter_tasks);
  EXPECT_EQ(told->thread_tasks, row.thread_tasks);
  EXPECT_EQ(told->thread_running_loop, row.thread_running_loop);
  EXPECT_EQ(told->interpreter_sys_dict, 7568);
}

// 3.14.5 has imports.modules at 7664, 3.14.6 at 7688.
TEST(ToldObjects, ComeFromTheTableWhereAPatchReleaseMovedThem) {
  const auto told = told_by(of_314(7664));
  ASSERT_TRUE(told) << told.error().text();
  EXPECT_TRUE(fits(*told, *object_layout(14, false)));
  EXPECT_EQ(told->interpreter_modules, 7664);
  EXPECT_EQ(told->interpreter_gc, 7392);
  EXPECT_EQ(told->interpreter_collecting, 7392 + 192);
  // Fields in no table, behind those that have moved.
  EXPECT_EQ(told->interpreter_tasks, ObjectLayout::kAbsent);
  EXPECT_EQ(told->thread_tasks, ObjectLayout::kAbsent);
  EXPECT_EQ(told->thread_running_loop, ObjectLayout::kAbsent);
}

TEST(ToldObjects, DoNotFitARowThatHasOthers) {
  const ObjectLayout& row = *object_layout(14, false);
  // localsplus, localsplusnames, tp_name, tp_flags, a tuple's items, a list's,
  // a set's, a dict's, an int's, a generator's
  for (const std::size_t word :
       {35U, 46U, 53U, 55U, 57U, 60U, 63U, 67U, 72U, 85U}) {
    MadeUpUnknown python = of_314(kRowsModules);
    python.words[word] -= 8;
    const auto told = told_by(python);
    ASSERT_TRUE(told) << word;
    EXPECT_FALSE(fits(*told, row)) << word;
  }
}

TEST(ToldObjects, ThatMakeNoSenseAreRefused) {
  for (const std::size_t word : {35U, 53U, 57U, 67U, 82U}) {
    MadeUpUnknown python = of_314(kRowsModules);
    python.words[word] = 1U << 20;
    const auto told = told_by(python);
    ASSERT_FALSE(told) << word;
    EXPECT_EQ(told.error().id, ErrorId::UnsupportedPython);
  }
  MadeUpUnknown python = of_314(~std::uint64_t{0});
  EXPECT_FALSE(told_by(python));
}

TEST(ToldObjects, AreTheRowsBeforeThereWasATable) {
  const ObjectLayout& row = *object_layout(12, false);
  const auto told =
      with_told_offsets(MadeUpUnknown().memory(), MadeUpUnknown::kRuntime, row);
  ASSERT_TRUE(told);
  EXPECT_TRUE(fits(*told, row));
  EXPECT_EQ(told->interpreter_modules, row.interpreter_modules);
}

}  // namespace
}  // namespace hangdbg
