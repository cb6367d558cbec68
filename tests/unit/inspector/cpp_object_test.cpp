// Objects of C++ recognised by the names of their classes: those of this
// program, as compiled; and for functions that return a word, its offset.
#include "inspector/jobs/torch/cpp_object.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace hangdbg {

struct Ancestor {
  virtual ~Ancestor() = default;
  long words[2] = {1, 2};
};
struct Middle : Ancestor {};
struct Descendant : Middle {
  std::shared_ptr<Ancestor> beside = std::make_shared<Ancestor>();
};
struct Plain {
  long words[4] = {1, 2, 3, 4};
};

namespace {

std::vector<Module> own_modules() {
  return find_modules(read_maps(::getpid()).value());
}

Address address_of(const void* object) {
  return {reinterpret_cast<std::uint64_t>(object)};
}

TEST(CppObjects, AreToldByTheirClass) {
  const LiveMemory memory(::getpid());
  const auto modules = own_modules();
  const CppObjects objects(memory, modules);
  const Descendant object;
  const auto* const known = objects.class_of(address_of(&object));
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->name, "N7hangdbg10DescendantE");
  EXPECT_EQ(known->bases, (std::vector<std::string>{"N7hangdbg6MiddleE",
                                                    "N7hangdbg8AncestorE"}));
  EXPECT_TRUE(known->is_a("N7hangdbg8AncestorE"));
  EXPECT_FALSE(known->is_a("N7hangdbg5PlainE"));
  EXPECT_EQ(last_part(known->name), "Descendant");
}

TEST(CppObjects, WhatIsNone) {
  const LiveMemory memory(::getpid());
  const auto modules = own_modules();
  const CppObjects objects(memory, modules);
  const Plain plain;
  const Descendant object;
  const void* points_to_code = reinterpret_cast<const void*>(&address_of);
  for (const void* place :
       {static_cast<const void*>(&plain), static_cast<const void*>(nullptr),
        reinterpret_cast<const void*>(8), static_cast<const void*>(&modules),
        static_cast<const void*>(&points_to_code),
        static_cast<const void*>(reinterpret_cast<const char*>(&object) + 4)}) {
    EXPECT_EQ(objects.class_of(address_of(place)), nullptr) << place;
  }
}

TEST(CppObjects, WordsEndWhereTheNextOneBegins) {
  const LiveMemory memory(::getpid());
  const auto modules = own_modules();
  const CppObjects objects(memory, modules);
  const Descendant two[2];
  const auto words = objects.words_of(address_of(&two[0]), 500);
  EXPECT_EQ(words.size(), sizeof(Descendant) / 8);
  EXPECT_EQ(objects.words_of(address_of(&two[0]), 2).size(), 2U);
  // What it shares with others is found among theirs.
  EXPECT_NE(std::ranges::find(words, address_of(two[0].beside.get())),
            words.end());
  EXPECT_TRUE(objects.words_of(Address{8}, 500).empty());
}

TEST(CppObjects, NamesThatAreNone) {
  EXPECT_EQ(last_part("N4c10d16ProcessGroupGlooE"), "ProcessGroupGloo");
  EXPECT_EQ(last_part("5Plain"), "Plain");
  EXPECT_EQ(last_part("N4c10d99999999999999999999xE"), "c10d");
  EXPECT_EQ(last_part("N4c10d9shortE"), "c10d");
  EXPECT_EQ(last_part(""), "");
}

// ---- what a function returns

std::optional<Getter> getter(std::initializer_list<int> code) {
  std::vector<std::byte> bytes;
  for (const int byte : code) {
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return parse_getter(bytes);
}

TEST(Getter, OfAWord) {
  // torch 2.13: ProcessGroupGloo::getSequenceNumberForGroup
  auto found = getter({0x48, 0x8b, 0x87, 0xc8, 0x01, 0, 0, 0xc3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 0x1c8);
  EXPECT_EQ(found->size, 8U);
  found = getter({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x47, 0x30, 0xc3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 0x30);
}

TEST(Getter, OfACount) {
  // torch 2.13: ProcessGroupGloo::nextTag
  auto found = getter({0x8b, 0x87, 0xd4, 0, 0, 0, 0x8d, 0x50, 0x01, 0x89, 0x97,
                       0xd4, 0, 0, 0, 0xc3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 0xd4);
  EXPECT_EQ(found->size, 4U);
  found = getter({0x8b, 0x47, 0x14, 0x8d, 0x50, 0x01, 0x89, 0x57, 0x14, 0xc3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 0x14);
}

TEST(Getter, OfAnOptional) {
  // torch 1.13: ProcessGroupGloo::getSequenceNumberForGroup
  const auto found =
      getter({0x80, 0x7f, 0x20, 0x00, 0x75, 0x0a, 0x31, 0xc0, 0xc3,
              0x0f, 0x1f, 0x80, 0,    0,    0,    0,    0x48, 0x83,
              0xc7, 0x28, 0xe9, 0x17, 0x18, 0x3d, 0xfc});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 0x30);
  EXPECT_EQ(found->flags, (std::vector<std::ptrdiff_t>{0x20, 0x28}));
}

TEST(Getter, OfWhatIsNone) {
  EXPECT_FALSE(getter({}));
  EXPECT_FALSE(getter({0x48}));
  EXPECT_FALSE(getter({0x48, 0x8b, 0x87, 0xc8}));
  // It does more than that, or something else.
  EXPECT_FALSE(getter({0x48, 0x8b, 0x87, 0xc8, 0x01, 0, 0, 0x48, 0xc3}));
  EXPECT_FALSE(getter({0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x47, 0x08, 0xc3}));
  EXPECT_FALSE(
      getter({0x8b, 0x47, 0x14, 0x8d, 0x50, 0x01, 0x89, 0x57, 0x18, 0xc3}));
  EXPECT_FALSE(getter({0x8b, 0x87, 0xd4, 0, 0, 0, 0x8d, 0x50, 0x01, 0x89, 0x97,
                       0xd8, 0, 0, 0, 0xc3}));
  EXPECT_FALSE(getter({0x80, 0x7f, 0x20, 0x00, 0x75, 0x7f, 0x31, 0xc0, 0xc3}));
  EXPECT_FALSE(getter({0x80, 0x7f, 0x20, 0x00, 0x75, 0x80, 0x31, 0xc0, 0xc3}));
}

}  // namespace
}  // namespace hangdbg
