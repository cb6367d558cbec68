// The search without symbols, on interpreters that have some: both must agree.
#include "inspector/cpython/runtime/scanned_python.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

class ScannedPythonLive : public OnEachPython {};

Result<PythonRuntime> find_by_symbols(int pid, const Look& look) {
  return find_python(look.memory, look.modules,
                     [&](const Module& module, const ElfImage& image) {
                       return FileSymbols::read(pid, look.memory, module,
                                                image);
                     });
}

std::vector<Address> interpreters_of(const Look& look,
                                     const PythonRuntime& python) {
  std::vector<Address> found;
  if (const auto all = read_interpreters(look.memory, python)) {
    std::ranges::transform(*all, std::back_inserter(found),
                           &Interpreter::state);
  }
  return found;
}

TEST_P(ScannedPythonLive, IsTheOneThatSymbolsLeadTo) {
  const PythonChild target(path_,
                           "import time; say('ready'), time.sleep(1000)\n");
  const Look look(target.pid());
  const auto known = find_by_symbols(target.pid(), look);
  ASSERT_TRUE(known) << known.error().text();
  const auto found =
      scan_for_python(look.memory, look.modules[known->module], known->image);
  ASSERT_TRUE(found);
  if (known->version.at_least(7)) {
    EXPECT_EQ(found->runtime, known->runtime);
  }
  EXPECT_EQ(interpreters_of(look, *found), interpreters_of(look, *known));
  EXPECT_EQ(found->code_type, known->code_type);
  EXPECT_EQ(found->version.minor, known->version.minor);
  EXPECT_EQ(found->free_threaded, known->free_threaded);
}

TEST_P(ScannedPythonLive, IsNotInOtherModules) {
  const PythonChild target(path_,
                           "import time; say('ready'), time.sleep(1000)\n");
  const Look look(target.pid());
  const auto known = find_python(look.memory, look.modules);
  ASSERT_TRUE(known) << known.error().text();
  for (std::size_t i = 0; i < look.modules.size(); ++i) {
    const auto image = ElfImage::read(look.memory, look.modules[i].base);
    if (image && i != known->module) {
      EXPECT_FALSE(scan_for_python(look.memory, look.modules[i], *image))
          << look.modules[i].path;
    }
  }
}

// Some variables have the main one, from which the other is not to be reached.
TEST(ScannedPython36, IsTheListOfAllInterpreters) {
  const auto path = python_named("3.6");
  if (!path) {
    GTEST_SKIP() << "no python 3.6 here";
  }
  const PythonChild target(*path, R"(
import _testcapi
_testcapi.run_in_subinterp("""
import os, time
def inside():
    os.write(1, b"ready\\n")
    time.sleep(1000)
inside()
""")
)");
  ASSERT_EQ(target.said(), "ready");
  const Look look(target.pid());
  const auto scanned = find_python(look.memory, look.modules);
  ASSERT_TRUE(scanned) << scanned.error().text();
  const auto known = find_by_symbols(target.pid(), look);
  ASSERT_TRUE(known) << known.error().text();
  EXPECT_FALSE(scanned->collecting);
  EXPECT_TRUE(known->collecting);
  EXPECT_EQ(interpreters_of(look, *known).size(), 2);
  EXPECT_EQ(interpreters_of(look, *scanned), interpreters_of(look, *known));
  const auto threads = python_threads(look.memory, *scanned, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  ASSERT_EQ(threads->size(), 2);
  EXPECT_EQ(threads->front().function, "inside");
  EXPECT_EQ(threads->front().interpreter, 1);
  EXPECT_EQ(threads->back().interpreter, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Pythons,
    ScannedPythonLive,
    testing::ValuesIn([] {
      auto names = kSupported;
      names.insert(names.end(), {"3.13t", "3.14t", "3.15t"});
      return names;
    }()),
    python_name);

}  // namespace
}  // namespace hangdbg
