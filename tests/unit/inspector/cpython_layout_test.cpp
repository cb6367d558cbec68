#include "inspector/cpython/layout/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "inspector/cpython/layout/object_layout.h"
#include "inspector/cpython/layout/text.h"

namespace hangdbg {
namespace {

constexpr Address kPlace{0x10000};

FakeMemory words_at(Address at, const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  FakeMemory memory;
  memory.add(at, bytes);
  return memory;
}

std::uint64_t cookie() {
  std::uint64_t word = 0;
  std::memcpy(&word, "xdebugpy", 8);
  return word;
}

// As python 3.13.0 has it: every offset distinct, each inside its structure.
std::vector<std::uint64_t> offsets_313() {
  std::vector<std::uint64_t> words = {cookie(), 0x030d00f0, 0};
  const auto section = [&](std::uint64_t size,
                           const std::vector<std::uint64_t>& fields) {
    words.push_back(size);
    words.insert(words.end(), fields.begin(), fields.end());
  };
  section(900'000, {640, 664});
  section(400'000,
          {8, 16, 7344, 7704, 7600, 7608, 7616, 7240, 7816, 0, 7832, 7824});
  section(320, {0, 8, 16, 72, 152, 160, 248, 36});
  section(88, {8, 0, 56, 72, 70});
  section(216, {112, 120, 128, 136, 68, 52, 96, 104, 200});
  section(16, {8});
  return words;
}

TEST(CPythonLayout, HasARowForEachVersionWithoutDebugOffsets) {
  for (int minor = 6; minor <= 12; ++minor) {
    const CPythonLayout* row = generated_layout(minor);
    ASSERT_NE(row, nullptr) << "3." << minor;
    EXPECT_EQ(row->gil_locked != CPythonLayout::kAbsent, minor >= 7);
    EXPECT_EQ(row->interpreter_id != CPythonLayout::kAbsent, minor >= 7);
    EXPECT_EQ(row->thread_native_id != CPythonLayout::kAbsent, minor >= 11);
    EXPECT_EQ(row->runtime_gil != CPythonLayout::kAbsent,
              minor >= 7 && minor < 12);
    EXPECT_EQ(row->interpreter_gil != CPythonLayout::kAbsent, minor >= 12);
  }
  EXPECT_EQ(generated_layout(5), nullptr);
  EXPECT_EQ(generated_layout(13), nullptr);
}

TEST(CPythonLayout, HasLongerObjectsWhereReferencesAreTraced) {
  constexpr std::uint32_t kLonger = 16;
  for (int minor = 6; minor <= 12; ++minor) {
    const CPythonLayout* row = generated_layout(minor);
    const CPythonLayout* traced = generated_layout(minor, true);
    ASSERT_NE(traced, nullptr) << "3." << minor;
    EXPECT_EQ(traced->object_type, row->object_type + kLonger);
    EXPECT_EQ(traced->code_filename, row->code_filename + kLonger);
    EXPECT_EQ(traced->thread_ident, row->thread_ident);
    EXPECT_EQ(object_layout(minor, false, true)->object_size,
              object_layout(minor, false)->object_size + kLonger);
  }
  EXPECT_EQ(generated_layout(13, true), nullptr);
}

TEST(ObjectLayout, OfBuildsWithChecksIsAnotherOnlyWhereItMust) {
  EXPECT_EQ(object_layout(13, false, true), object_layout(13, false));
  EXPECT_EQ(object_layout(14, false, true)->interpreter_tasks,
            object_layout(14, false)->interpreter_tasks + 8);
}

TEST(DebugOffsets, OfPython313) {
  const auto offsets =
      read_debug_offsets(words_at(kPlace, offsets_313()), kPlace);
  ASSERT_TRUE(offsets) << offsets.error().text();
  EXPECT_FALSE(offsets->free_threaded);
  EXPECT_EQ(offsets->layout.minor, 13);
  EXPECT_EQ(offsets->layout.runtime_initialized, 632);
  EXPECT_EQ(offsets->layout.runtime_interpreters_main, 672);
  EXPECT_EQ(offsets->layout.gil_locked, 16);
  EXPECT_EQ(offsets->layout.gil_last_holder, 8);
  EXPECT_EQ(offsets->layout.frame_owner, 70);
  EXPECT_EQ(offsets->layout.code_qualname, 128);
  EXPECT_EQ(offsets->layout.code_line_table, 136);
  EXPECT_EQ(offsets->layout.code_instructions, 200);
  EXPECT_EQ(offsets->layout.code_first_traceable, 184);
  EXPECT_EQ(offsets->layout.code_bytecodes, CPythonLayout::kAbsent);
  EXPECT_EQ(offsets->layout.bytes_data, 32);
  EXPECT_EQ(offsets->layout.str_ascii_data, 40);
}

// As Debian's python 3.15.2 has it.
TEST(DebugOffsets, OfPython315) {
  std::vector<std::uint64_t> words = {cookie(), 0x030f02f0, 0,  //
                                      346568,   912,        936};
  const auto section = [&](const std::vector<std::uint64_t>& fields) {
    words.insert(words.end(), fields.begin(), fields.end());
  };
  section({226240, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16, 7736, 0,
           7752, 7744, 7944, 0});
  section({888, 0, 8, 16, 72, 80, 88, 96, 176, 184, 256, 32, 36, 40, 136, 288});
  section({0});  // err_stackitem
  section({88, 8, 0, 56, 80, 74, 64, 0});
  section({216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0});
  section({16, 8});
  const auto offsets = read_debug_offsets(words_at(kPlace, words), kPlace);
  ASSERT_TRUE(offsets) << offsets.error().text();
  EXPECT_EQ(offsets->layout.minor, 15);
  EXPECT_EQ(offsets->layout.interpreter_gil, 16);
  EXPECT_EQ(offsets->layout.gil_locked, 16);
  EXPECT_EQ(offsets->layout.thread_ident, 176);
  EXPECT_EQ(offsets->layout.thread_native_id, 184);
  EXPECT_EQ(offsets->layout.frame_owner, 74);
  EXPECT_EQ(offsets->layout.code_instructions, 208);
  EXPECT_EQ(offsets->layout.object_type, 8);
  EXPECT_EQ(offsets->layout.thread_attachment, CPythonLayout::kAbsent);
  words[2] = 1;  // free-threaded: _status, holds_gil, gil_requested, _whence
  const auto other = read_debug_offsets(words_at(kPlace, words), kPlace);
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->layout.thread_attachment, 48);
}

TEST(DebugOffsets, WithoutTheCookieAreRefused) {
  auto words = offsets_313();
  words[0] ^= 1;
  const auto offsets = read_debug_offsets(words_at(kPlace, words), kPlace);
  ASSERT_FALSE(offsets);
  EXPECT_EQ(offsets.error().id, ErrorId::UnsupportedPython);
}

TEST(DebugOffsets, OfAVersionToComeAreRefusedByName) {
  auto words = offsets_313();
  words[1] = 0x031000f0;
  const auto offsets = read_debug_offsets(words_at(kPlace, words), kPlace);
  ASSERT_FALSE(offsets);
  EXPECT_NE(offsets.error().message.find("3.16"), std::string::npos);
}

TEST(DebugOffsets, OfAnotherShapeAreRefused) {
  auto words = offsets_313();
  words[1] = 0x030e00f0;  // 3.14 has more words in the sections
  EXPECT_FALSE(read_debug_offsets(words_at(kPlace, words), kPlace));
}

TEST(DebugOffsets, OfHostileSizeAreRefused) {
  for (std::size_t i = 3; i < offsets_313().size(); ++i) {
    auto words = offsets_313();
    words[i] = std::uint64_t{1} << 60;
    const auto offsets = read_debug_offsets(words_at(kPlace, words), kPlace);
    if (!offsets) {
      EXPECT_EQ(offsets.error().id, ErrorId::UnsupportedPython) << i;
    } else {
      // A field that is not used: what is used is as it was.
      EXPECT_EQ(offsets->layout.gil_locked, 16) << i;
      EXPECT_EQ(offsets->layout.thread_ident, 152) << i;
    }
  }
}

// A str of 3.11: length at 16, state at 32, ASCII text at 48, other at 72.
FakeMemory str_at(Address at,
                  std::uint64_t length,
                  std::uint32_t state,
                  const std::string& text,
                  std::size_t text_at) {
  std::vector<std::byte> bytes(text_at + text.size());
  std::memcpy(bytes.data() + 16, &length, 8);
  std::memcpy(bytes.data() + 32, &state, 4);
  std::memcpy(bytes.data() + text_at, text.data(), text.size());
  FakeMemory memory;
  memory.add(at, bytes);
  return memory;
}

constexpr std::uint32_t state_of(int kind, bool ascii) {
  return static_cast<std::uint32_t>(kind) << 2 | 1U << 5 |
         (ascii ? 1U << 6 : 0U);
}

TEST(ReadStr, OfEachWidth) {
  const CPythonLayout& at = *generated_layout(11);
  EXPECT_EQ(read_str(str_at(kPlace, 4, state_of(1, true), "wait", 48), at,
                     kPlace, 99),
            "wait");
  EXPECT_EQ(read_str(str_at(kPlace, 2, state_of(1, false), "\xe9!", 72), at,
                     kPlace, 99),
            "é!");
  const std::u16string two = u"имя";
  EXPECT_EQ(
      read_str(
          str_at(kPlace, 3, state_of(2, false),
                 std::string(reinterpret_cast<const char*>(two.data()), 6), 72),
          at, kPlace, 99),
      "имя");
  const std::u32string four = U"😀";
  EXPECT_EQ(read_str(str_at(kPlace, 1, state_of(4, false),
                            std::string(
                                reinterpret_cast<const char*>(four.data()), 4),
                            72),
                     at, kPlace, 99),
            "😀");
}

TEST(ReadStr, ReplacesALoneSurrogate) {
  const auto memory =
      str_at(kPlace, 1, state_of(2, false), std::string("\x00\xdc", 2), 72);
  EXPECT_EQ(read_str(memory, *generated_layout(11), kPlace, 99),
            "\xef\xbf\xbd");
}

TEST(ReadStr, OfAbsurdLengthIsCut) {
  const auto memory =
      str_at(kPlace, std::uint64_t{1} << 60, state_of(1, true), "abcdefgh", 48);
  EXPECT_EQ(read_str(memory, *generated_layout(11), kPlace, 8), "abcdefgh…");
}

TEST(ReadStr, OfSomethingElseFails) {
  const CPythonLayout& at = *generated_layout(11);
  for (const std::uint32_t state : {0U, state_of(3, false), state_of(2, true),
                                    state_of(1, true) & ~(1U << 5)}) {
    const auto text =
        read_str(str_at(kPlace, 1, state, "x", 72), at, kPlace, 8);
    ASSERT_FALSE(text) << state;
    EXPECT_EQ(text.error().id, ErrorId::Unreadable);
  }
}

}  // namespace
}  // namespace hangdbg
