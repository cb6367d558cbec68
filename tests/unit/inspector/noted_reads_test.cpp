#include "inspector/cpython/objects/noted_reads.h"

#include <gtest/gtest.h>

#include <cstring>

namespace hangdbg {
namespace {

std::vector<std::byte> words(std::initializer_list<std::uint64_t> values) {
  std::vector<std::byte> bytes(values.size() * 8);
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

FakeMemory memory_with(std::initializer_list<std::uint64_t> values) {
  FakeMemory memory;
  memory.add(Address{0x1000}, words(values));
  return memory;
}

TEST(ReadNotes, HoldWhileWhatWasReadIsTheSame) {
  ReadNotes notes;
  {
    const NoteTaker taker(notes);
    note_read(Address{0x1000}, words({1}));
    note_read(Address{0x1010}, words({3}));
  }
  note_read(Address{0x1008}, words({9}));  // nobody notes it
  EXPECT_TRUE(notes.hold(memory_with({1, 2, 3})));
  EXPECT_TRUE(notes.hold(memory_with({1, 7, 3})));
  EXPECT_FALSE(notes.hold(memory_with({1, 2, 4})));
  EXPECT_FALSE(notes.hold(memory_with({1, 2})));  // no longer mapped
}

TEST(ReadNotes, TheLongerOfTwoReadsCounts) {
  ReadNotes notes;
  notes.add(Address{0x1000}, words({1, 2}));
  notes.add(Address{0x1000}, words({1}));
  EXPECT_FALSE(notes.hold(memory_with({1, 3})));
}

TEST(ReadNotes, WithoutNotesNothingIsKnown) {
  EXPECT_FALSE(ReadNotes().hold(memory_with({1})));
}

}  // namespace
}  // namespace hangdbg
