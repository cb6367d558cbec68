// Walks over the garbage collector's rings, in memory that a test made.
#include "inspector/cpython/objects/tracked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace hangdbg {
namespace {

constexpr Address kInterpreter{0x10'0000};
constexpr Address kFirst{0x11'0000};  // objects, one every kApart bytes
constexpr std::uint64_t kApart = 64;
constexpr Address kType{0x5000};

class Tracked : public testing::Test {
 protected:
  Tracked() : bytes(0x2'0000) {
    python.version.minor = 12;
    python.layout = *generated_layout(12);
    // Four heads; the first ones packed to 4 bytes, as Debian's 3.13 has them.
    const Address gc = kInterpreter + object_layout(12, false)->interpreter_gc;
    heads = {gc + 20, gc + 44, gc + 68, gc + 104};
    for (const Address head : heads) {
      link(head, {});
    }
  }

  static Address node(std::uint64_t index) { return kFirst + index * kApart; }

  void put(Address at, std::uint64_t word) {
    std::memcpy(bytes.data() + (at - kInterpreter), &word, sizeof word);
  }

  void link(Address head, std::initializer_list<std::uint64_t> indices) {
    Address last = head;
    for (const std::uint64_t index : indices) {
      put(last, node(index).value);
      put(node(index) + 8, last.value | 2);  // as the collector may mark it
      put(node(index) + 24, kType.value);
      last = node(index);
    }
    put(last, head.value);
    put(head + 8, last.value);
  }

  Status walk(std::size_t most = 1000) {
    FakeMemory memory;
    memory.add(kInterpreter, bytes);
    const auto objects = ObjectReader::open(memory, python);
    return each_tracked(memory, *objects, python, kInterpreter,
                        {most, Deadline::in(std::chrono::seconds(10))},
                        [&](Address object, Address type) {
                          EXPECT_EQ(type, kType);
                          met.push_back((object - 16 - kFirst) / kApart);
                        });
  }

  PythonRuntime python;
  std::vector<std::byte> bytes;
  std::vector<Address> heads;
  std::vector<std::uint64_t> met;
};

TEST_F(Tracked, AllOfAllRings) {
  link(heads[0], {4, 2});
  link(heads[2], {7, 5, 6});
  link(heads[3], {1});
  EXPECT_TRUE(walk());
  EXPECT_EQ(met, (std::vector<std::uint64_t>{4, 2, 7, 5, 6, 1}));
}

TEST_F(Tracked, AStepWithoutAWayBackEndsARing) {
  link(heads[0], {1, 2, 3});
  put(node(2) + 8, node(9).value);
  link(heads[1], {5});
  const auto walked = walk();
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().message, "the list of objects changes meanwhile");
  EXPECT_EQ(met.front(), 1U);
  EXPECT_EQ(met.back(), 5U);
  EXPECT_EQ(std::ranges::count(met, 3U), 0);
}

// As when the collector moves all of a ring to the end of another meanwhile.
TEST_F(Tracked, ARingThatLeadsIntoAnotherIsLeft) {
  link(heads[1], {5, 1, 2});
  put(heads[0], node(1).value);
  put(node(1) + 8, heads[0].value);
  EXPECT_FALSE(walk());
  ASSERT_GE(met.size(), 3U);
  met.resize(3);
  EXPECT_EQ(met, (std::vector<std::uint64_t>{1, 2, 5}));
}

TEST_F(Tracked, SoManyAndNoMore) {
  link(heads[0], {1, 2, 3, 4});
  const auto walked = walk(3);
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().message, "there are too many objects");
  EXPECT_EQ(met, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(Tracked, NoneWithoutAGil) {
  python.version.minor = 14;
  python.free_threaded = true;
  const auto walked = walk();
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().id, ErrorId::UnsupportedPython);
}

}  // namespace
}  // namespace hangdbg
