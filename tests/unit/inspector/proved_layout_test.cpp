#include "inspector/cpython/runtime/proved_layout.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/support/made_up_unknown.h"

namespace hangdbg {
namespace {

constexpr auto kRuntime = MadeUpUnknown::kRuntime;

Result<ProvedLayout> prove(const MadeUpUnknown& python) {
  return prove_layout(python.memory(), kRuntime, {});
}

// What it is in each test below, wherever the table says it.
void expect_true(const ProvedLayout& proved) {
  const CPythonLayout& at = proved.layout;
  EXPECT_EQ(at.minor, 16);
  EXPECT_EQ(at.runtime_interpreters_head, 2016);
  EXPECT_EQ(at.runtime_finalizing, 2000);
  EXPECT_EQ(at.interpreter_next, CPythonLayout::kAbsent);  // there is but one
  EXPECT_EQ(at.interpreter_threads_head, 7328);
  EXPECT_EQ(at.thread_next, 8);
  EXPECT_EQ(at.thread_interpreter, 16);
  EXPECT_EQ(at.thread_frame, 72);
  EXPECT_EQ(at.thread_ident, 152);
  EXPECT_EQ(at.thread_native_id, 160);
  EXPECT_EQ(at.frame_previous, 8);
  EXPECT_EQ(at.frame_code, 0);
  EXPECT_EQ(at.frame_position, 56);
  EXPECT_EQ(at.frame_owner, 74);
  EXPECT_EQ(at.code_filename, 112);
  EXPECT_EQ(at.code_name, 120);
  EXPECT_EQ(at.code_qualname, 128);
  EXPECT_EQ(at.code_line_table, 136);
  EXPECT_EQ(at.code_first_line, 68);
  EXPECT_EQ(at.code_instructions, 208);
  EXPECT_EQ(at.str_length, 16);
  EXPECT_EQ(at.str_ascii_data, 40);
  EXPECT_EQ(proved.code_type.value, MadeUpUnknown::kCodeType);
  // Or the table does not have it.
  EXPECT_TRUE(at.interpreter_gil == 16 ||
              at.interpreter_gil == CPythonLayout::kAbsent);
  EXPECT_TRUE(at.gil_locked == 16 || at.gil_locked == CPythonLayout::kAbsent);
}

TEST(ProvedLayout, OfAVersionToComeWithTheWordsOfOneBefore) {
  const MadeUpUnknown python;
  ASSERT_EQ(python.words.size(), MadeUpUnknown::kWords);
  const auto proved = prove(python);
  ASSERT_TRUE(proved) << proved.error().text();
  expect_true(*proved);
  EXPECT_EQ(proved->layout.interpreter_gil, 16);
  EXPECT_EQ(proved->layout.gil_last_holder, 8);
  EXPECT_EQ(proved->unproved, std::vector<std::string>());
  EXPECT_EQ(proved->objects.interpreter_modules, 7584);
  EXPECT_EQ(proved->objects.interpreter_sys_dict, 7568);
  EXPECT_EQ(proved->objects.frame_globals, 24);
  EXPECT_EQ(proved->objects.code_names, 96);
}

// Wherever new words are inserted, and whatever they contain: the result is
// right, or there is none.
TEST(ProvedLayout, IsTrueOrNoneWhereverThereAreNewWords) {
  int found = 0, tried = 0;
  for (std::size_t place = MadeUpUnknown::kHeader + 1;
       place <= MadeUpUnknown::kObjectGroup; ++place) {
    for (const std::uint64_t value :
         {0ULL, 8ULL, 16ULL, 24ULL, 40ULL, 72ULL, 80ULL, 120ULL, 184ULL,
          7328ULL, 1ULL << 40}) {
      for (const std::size_t count : {1U, 3U}) {
        MadeUpUnknown python;
        python.words.insert(
            python.words.begin() + static_cast<std::ptrdiff_t>(place), count,
            value);
        const auto proved = prove(python);
        ++tried;
        if (proved) {
          ++found;
          SCOPED_TRACE(testing::Message()
                       << "word " << place << " is " << value << ", " << count);
          expect_true(*proved);
        } else {
          EXPECT_EQ(proved.error().id, ErrorId::UnsupportedPython);
        }
      }
    }
  }
  EXPECT_GT(found * 2, tried) << "of " << tried;
}

TEST(ProvedLayout, IsTrueOrNoneWhateverOneWordSays) {
  for (std::size_t i = MadeUpUnknown::kHeader; i < MadeUpUnknown::kWords; ++i) {
    for (const std::uint64_t value :
         {0ULL, 8ULL, 64ULL, 128ULL, 7344ULL, ~0ULL, 1ULL << 60}) {
      MadeUpUnknown python;
      python.words[i] = value;
      const auto proved = prove(python);
      if (proved) {
        SCOPED_TRACE(testing::Message() << "word " << i << " is " << value);
        const CPythonLayout& at = proved->layout;
        EXPECT_EQ(at.thread_frame, 72);
        EXPECT_EQ(at.frame_code, 0);
        EXPECT_EQ(at.code_name, 120);
        EXPECT_EQ(at.code_line_table, 136);
      }
    }
  }
}

TEST(ProvedLayout, OfGarbageIsRefused) {
  std::mt19937_64 random(1);
  for (int table = 0; table < 300; ++table) {
    MadeUpUnknown python;
    // Small numbers, of which some are a structure's size.
    for (std::size_t i = MadeUpUnknown::kHeader; i < MadeUpUnknown::kWords;
         ++i) {
      python.words[i] = table % 2 == 0 ? random() : random() % 1024 * 8;
    }
    const auto proved = prove(python);
    ASSERT_FALSE(proved);
    EXPECT_EQ(proved.error().id, ErrorId::UnsupportedPython);
    EXPECT_NE(proved.error().message.find("3.16.0"), std::string::npos);
  }
}

TEST(ProvedLayout, OfFieldsThatHaveChangedPlacesIsRefused) {
  constexpr std::size_t kCode = 39;
  MadeUpUnknown python;
  std::swap(python.words[kCode + 1], python.words[kCode + 2]);  // file and name
  EXPECT_FALSE(prove(python));
}

TEST(ProvedLayout, IsOfAVersionThatHasATable) {
  for (const std::uint64_t version :
       {0x030c00f0ULL, 0x020700f0ULL, 0ULL, ~0ULL}) {
    MadeUpUnknown python;
    python.words[1] = version;
    const auto proved = prove(python);
    ASSERT_FALSE(proved) << version;
    EXPECT_EQ(proved.error().id, ErrorId::UnsupportedPython);
  }
}

TEST(ProvedLayout, NeedsTheCookie) {
  MadeUpUnknown python;
  python.words[0] ^= 1;
  ASSERT_FALSE(prove(python));
}

}  // namespace
}  // namespace hangdbg
