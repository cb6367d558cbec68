// DWARF line tables, hand-made and of junk. Those of compilers are in
// tests/integration/look/test_native.py.
#include "tracee/elf/source_lines.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/support/cpu_time.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kBias = 0x5000'0000;

// Bytes of a table, written as in the standard.
class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  Bytes& u8(int value) { return put(static_cast<std::uint8_t>(value)); }
  Bytes& text(const std::string& value) {
    for (const char c : value + '\0') {
      put(c);
    }
    return *this;
  }
  Bytes& append(const Bytes& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  void change(std::size_t at, std::byte value) { bytes_[at] = value; }
  const std::vector<std::byte>& get() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

// Lines 10 to 12 from 0x1000 to 0x1008, and line 20 of the second file up to
// 0x1010.
Bytes program(std::uint64_t start = 0x1000) {
  Bytes to;
  to.u8(0).u8(9).u8(2).put(start);   // set_address
  to.u8(3).u8(9).u8(1);              // advance_line 9, copy: 10
  to.u8(13 + 4 * 14 + 4);            // special: 4 on, line + 1 (base -3)
  to.u8(13 + 2 * 14 + 4);            // 2 on, line + 1
  to.u8(2).u8(2);                    // advance_pc 2
  to.u8(4).u8(2).u8(3).u8(8).u8(1);  // set_file 2, line + 8, copy: 20
  to.u8(9).put(std::uint16_t{8});    // fixed_advance_pc
  return to.u8(0).u8(1).u8(1);       // end_sequence
}

Bytes version_4(const Bytes& program) {
  Bytes head;
  head.u8(1).u8(1).u8(1).u8(-3).u8(14).u8(13);
  for (const int arguments : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) {
    head.u8(arguments);
  }
  head.text("/src").text("").text("a.c").u8(1).u8(0).u8(0);
  head.text("b.c").u8(0).u8(0).u8(0).text("");
  Bytes unit;
  unit.put(std::uint16_t{4}).put(static_cast<std::uint32_t>(head.size()));
  unit.append(head).append(program);
  return Bytes().put(static_cast<std::uint32_t>(unit.size())).append(unit);
}

// The same in 64-bit DWARF, with its strings in a section of their own.
Bytes version_5(const Bytes& program) {
  Bytes head;
  head.u8(1).u8(1).u8(1).u8(-3).u8(14).u8(13);
  for (const int arguments : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) {
    head.u8(arguments);
  }
  head.u8(1).u8(1).u8(0x1f);  // folders: a path in .debug_line_str
  head.u8(2).put(std::uint64_t{0}).put(std::uint64_t{5});
  head.u8(3).u8(1).u8(0x08).u8(5).u8(0x1e).u8(2).u8(0x0b);  // with an MD5
  head.u8(3);
  for (const char* name : {"a.c", "a.c", "b.c"}) {
    head.text(name).put(std::uint64_t{0}).put(std::uint64_t{0}).u8(1);
  }
  Bytes unit;
  unit.put(std::uint16_t{5}).u8(8).u8(0).put(std::uint64_t{head.size()});
  unit.append(head).append(program);
  return Bytes()
      .put(std::uint32_t{0xffff'ffff})
      .put(std::uint64_t{unit.size()})
      .append(unit);
}

const Bytes& strings() {
  static const Bytes text = Bytes().text("/top").text("sub");
  return text;
}

SourceLines lines_of(const std::vector<std::byte>& table,
                     std::span<const Address> code,
                     const Bytes& ranges = {}) {
  FakeMemory file;
  file.add({}, table);
  SectionReader lines(file, {}, table.size());
  return source_lines({lines, strings().get(), ranges.get()}, kBias, code);
}

std::string place(const Bytes& table,
                  std::uint64_t at,
                  const Bytes& ranges = {}) {
  const Address code{kBias + at};
  const auto lines = lines_of(table.get(), {&code, 1}, ranges);
  return lines.empty()
             ? ""
             : lines.at(code).file + ":" + std::to_string(lines.at(code).line);
}

TEST(SourceLines, FromTheFirstInstructionToTheLast) {
  const Bytes table = version_4(program());
  EXPECT_EQ(place(table, 0xfff), "");
  EXPECT_EQ(place(table, 0x1000), "/src/a.c:10");
  EXPECT_EQ(place(table, 0x1003), "/src/a.c:10");
  EXPECT_EQ(place(table, 0x1004), "/src/a.c:11");
  EXPECT_EQ(place(table, 0x1006), "/src/a.c:12");
  EXPECT_EQ(place(table, 0x1008), "b.c:20");
  EXPECT_EQ(place(table, 0x100f), "b.c:20");
  EXPECT_EQ(place(table, 0x1010), "");
}

TEST(SourceLines, OfVersion5) {
  const Bytes table = version_5(program());
  EXPECT_EQ(place(table, 0x1003), "/top/sub/a.c:10");
  EXPECT_EQ(place(table, 0x1008), "/top/sub/b.c:20");
}

TEST(SourceLines, OfSeveralUnitsAndAddresses) {
  Bytes table = version_4(program(0x2000));
  table.append(version_5(program(0x1000)));
  const std::vector<Address> code = {Address{kBias + 0x2008},
                                     Address{kBias + 0x1000},
                                     Address{kBias + 0x3000}};
  const auto lines = lines_of(table.get(), code);
  EXPECT_EQ(lines, (SourceLines{{code[1], {"/top/sub/a.c", 10}},
                                {code[0], {"b.c", 20}}}));
}

// Where each begins, and how large it is.
using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// One unit's part of .debug_aranges.
Bytes unit_ranges(const Ranges& ranges, bool wide) {
  Bytes unit;
  unit.put(std::uint16_t{2});
  if (wide) {
    unit.put(std::uint64_t{0}).u8(8).u8(0).put(std::uint64_t{0});
  } else {
    unit.put(std::uint32_t{0}).u8(8).u8(0).put(std::uint32_t{0});
  }
  for (const auto& [start, size] : ranges) {
    unit.put(start).put(size);
  }
  unit.put(std::uint64_t{0}).put(std::uint64_t{0});
  Bytes size;
  if (wide) {
    size.put(std::uint32_t{0xffff'ffff}).put(std::uint64_t{unit.size()});
  } else {
    size.put(static_cast<std::uint32_t>(unit.size()));
  }
  return size.append(unit);
}

TEST(SourceLines, OfUnitsWithOtherCodeAreNotRead) {
  const Bytes table = version_4(program());
  for (const bool wide : {false, true}) {
    const auto line_at_0x1008 = [&](const std::vector<Ranges>& units) {
      Bytes all;
      for (const Ranges& unit : units) {
        all.append(unit_ranges(unit, wide));
      }
      return place(table, 0x1008, all);
    };
    // A wrong value shows that it is trusted.
    EXPECT_EQ(line_at_0x1008({{{0x1000, 8}}}), "");
    EXPECT_EQ(line_at_0x1008({{{0x3000, 8}, {0x1000, 8}}}), "");
    EXPECT_EQ(line_at_0x1008({{{0x1000, 8}}, {{0x3000, 8}}}), "");
    EXPECT_EQ(line_at_0x1008({{{0x1000, 0x10}}}), "b.c:20");
    EXPECT_EQ(line_at_0x1008({{{0x1000, 8}, {0x1008, 8}}}), "b.c:20");
    EXPECT_EQ(line_at_0x1008({{{0x2000, 8}}}), "b.c:20");
    // The linker may let two units have one function, or drop it.
    EXPECT_EQ(line_at_0x1008({{{0x1000, 8}}, {{0x1000, 8}, {0x1008, 8}}}),
              "b.c:20");
    EXPECT_EQ(line_at_0x1008({{{0, 0x1004}}}), "b.c:20");
  }
}

// The linker leaves 0 where it has dropped a function.
TEST(SourceLines, OfDroppedFunctionsSayNothing) {
  EXPECT_EQ(place(version_4(program(0)), 4), "");
}

TEST(SourceLines, OfOtherVersionsAreLeftOut) {
  Bytes table;
  table.put(std::uint32_t{6}).put(std::uint16_t{6}).put(std::uint32_t{0});
  table.append(version_4(program()));
  EXPECT_EQ(place(table, 0x1000), "/src/a.c:10");
}

TEST(SourceLines, CutOffAnywhere) {
  for (const Bytes& whole : {version_4(program()), version_5(program())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<std::byte> cut(
          whole.get().begin(),
          whole.get().begin() + static_cast<std::ptrdiff_t>(size));
      const Address code{kBias + 0x1008};
      EXPECT_TRUE(lines_of(cut, {&code, 1}).empty()) << size;
    }
  }
}

TEST(SourceLines, OfJunkAreBounded) {
  std::mt19937_64 random(7);
  std::vector<Address> code;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    code.push_back(Address{kBias + i});
  }
  const CpuTime cpu;
  for (int round = 0; round < 2000; ++round) {
    auto table =
        (round % 2 == 0 ? version_4(program()) : version_5(program())).get();
    for (int i = 0; i < 1 + round % 8; ++i) {
      table[4 + random() % (table.size() - 4)] =
          static_cast<std::byte>(random());
    }
    auto ranges = unit_ranges({{0x10, 8}, {0x1000, 0x10}}, round % 3 == 0);
    ranges.change(random() % ranges.size(), static_cast<std::byte>(random()));
    lines_of(table, code, ranges);
  }
  // Each sequence covers all addresses, again and again.
  Bytes again;
  for (int i = 0; i < 100'000; ++i) {
    again.u8(0).u8(9).u8(2).put(std::uint64_t{1}).u8(1);
    again.u8(0).u8(9).u8(2).put(~std::uint64_t{0});
    again.u8(0).u8(1).u8(1);
  }
  EXPECT_EQ(lines_of(version_4(again).get(), code).size(), 1999);
  EXPECT_LT(cpu.spent(), std::chrono::seconds(30));
}

}  // namespace
}  // namespace hangdbg
