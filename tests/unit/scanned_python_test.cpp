// The search without symbols, on interpreters that have some: it must find the
// very same.
#include "inspector/scanned_python.h"

#include <gtest/gtest.h>

#include "tests/unit/interpreters.h"
#include "tests/unit/processes.h"

namespace hangdbg {
namespace {

class ScannedPythonLive : public OnEachPython {};

TEST_P(ScannedPythonLive, IsTheOneThatSymbolsLeadTo) {
  const PythonChild target(path_,
                           "import time; say('ready'), time.sleep(1000)\n");
  const Look look(target.pid());
  const auto known = find_python(look.memory, look.modules);
  ASSERT_TRUE(known) << known.error().text();
  const auto found =
      scan_for_python(look.memory, look.modules[known->module], known->image);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->runtime, known->runtime);
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

INSTANTIATE_TEST_SUITE_P(Pythons,
                         ScannedPythonLive,
                         testing::ValuesIn([] {
                           auto names = kSupported;
                           names.insert(names.end(), {"3.13t", "3.14t"});
                           return names;
                         }()),
                         python_name);

}  // namespace
}  // namespace hangdbg
