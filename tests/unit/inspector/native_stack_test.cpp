#include "inspector/native/native_stack.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tests/unit/support/cpu_time.h"

namespace hangdbg {
namespace {

constexpr Address kStack{0x7000'0000};
constexpr Address kImage{0x40'0000};
constexpr std::size_t kImageSize = 0x4000;
constexpr std::size_t kHeaderAt = 0x1000;  // of .eh_frame_hdr

FakeMemory stack_of(const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  FakeMemory memory;
  memory.add(kStack, bytes);
  return memory;
}

const std::vector<AddressRange> kRanges = {{Address{0x1000}, Address{0x2000}},
                                           {Address{0x5000}, Address{0x6000}}};
constexpr Address kSp = kStack + 128;

bool mentions(std::uint64_t word) {
  std::vector<std::uint64_t> words(64);
  words[40] = word;
  return stack_mentions(stack_of(words), kSp, kStack + 64 * 8, kRanges);
}

TEST(StackMentions, WordsInsideARangeOnly) {
  EXPECT_FALSE(mentions(0));
  EXPECT_FALSE(mentions(0xfff));
  EXPECT_TRUE(mentions(0x1000));
  EXPECT_TRUE(mentions(0x2000));  // returns behind the range's last call
  EXPECT_FALSE(mentions(0x2001));
  EXPECT_TRUE(mentions(0x5fff));
  EXPECT_FALSE(mentions(0x7000));
}

TEST(StackMentions, TheRedZone) {
  std::vector<std::uint64_t> words(64);
  words[0] = 0x1800;
  EXPECT_TRUE(stack_mentions(stack_of(words), kSp, kStack + 64 * 8, kRanges));
}

TEST(StackMentions, IsYesWhenTheStackCannotBeRead) {
  const auto memory = stack_of(std::vector<std::uint64_t>(64));
  EXPECT_TRUE(stack_mentions(memory, Address{0x100}, kStack, kRanges));
  EXPECT_TRUE(stack_mentions(memory, kSp, kStack, kRanges));
  EXPECT_TRUE(stack_mentions(memory, kSp, kSp + (1ULL << 60), kRanges));
  EXPECT_TRUE(stack_mentions(memory, kSp, kStack + 65 * 8, kRanges));
}

// An image whose .eh_frame_hdr and all behind it is `junk`.
FakeMemory image_with(const std::vector<std::byte>& junk) {
  std::vector<std::byte> bytes(kImageSize);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phnum = 2;
  header.e_phentsize = sizeof(Elf64_Phdr);
  Elf64_Phdr segments[2]{};
  segments[0].p_type = PT_LOAD;
  segments[0].p_flags = PF_R | PF_X;
  segments[0].p_memsz = kImageSize;
  segments[1].p_type = PT_GNU_EH_FRAME;
  segments[1].p_vaddr = kHeaderAt;
  segments[1].p_memsz = 0x1000;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, segments, sizeof segments);
  std::ranges::copy(junk, bytes.begin() + kHeaderAt);

  FakeMemory memory;
  memory.add(kImage, bytes);
  std::vector<std::uint64_t> stack(1024);
  for (std::size_t i = 0; i < stack.size(); ++i) {
    stack[i] = i % 3 == 0 ? kStack.value + i * 8 : kImage.value + 0x800 + i;
  }
  std::vector<std::byte> words(stack.size() * 8);
  std::memcpy(words.data(), stack.data(), words.size());
  memory.add(kStack, words);
  return memory;
}

std::vector<Module> one_module() {
  Module module;
  module.path = "/junk";
  module.base = kImage;
  module.end = kImage + kImageSize;
  return {module};
}

user_regs_struct registers_in_image() {
  user_regs_struct registers{};
  registers.rip = kImage.value + 0x900;
  registers.rsp = kStack.value;
  registers.rbp = kStack.value + 64;
  return registers;
}

TEST(NativeUnwinder, WithoutUnwindInformationIsIncompleteAndDoesNotGuess) {
  const auto memory = image_with({});
  const auto modules = one_module();
  NativeUnwinder unwinder(memory, modules);
  const auto stack = unwinder.unwind(registers_in_image(),
                                     Deadline::in(std::chrono::seconds(1)));
  ASSERT_TRUE(stack) << stack.error().text();
  EXPECT_EQ(stack->frames.size(), 1);
  EXPECT_FALSE(stack->complete);
  EXPECT_EQ(stack->frames[0].module, 0);
  EXPECT_TRUE(stack->frames[0].interrupted);
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// A table, an FDE that covers the whole image and its CIE, all well-formed, so
// that the random instructions behind them are obeyed.
void put_unwind_information(std::vector<std::byte>& bytes) {
  put(bytes, 0, std::uint32_t{0x3b031b01});
  put(bytes, 8, std::uint32_t{1});
  put(bytes, 12, std::int32_t{-static_cast<std::int32_t>(kHeaderAt)});
  put(bytes, 16, std::int32_t{0x100});

  put(bytes, 0x100, std::uint32_t{0x400});         // length
  put(bytes, 0x104, std::int32_t{0x104 - 0x800});  // back to the CIE
  put(bytes, 0x108, kImage.value);                 // from
  put(bytes, 0x110, std::uint64_t{kImageSize});    // so many bytes

  put(bytes, 0x800, std::uint32_t{0x200});  // length
  put(bytes, 0x804, std::uint32_t{0});      // this is a CIE
  put(bytes, 0x808, std::uint8_t{1});       // version
  put(bytes, 0x809, std::uint8_t{0});       // no augmentation
  put(bytes, 0x80a, std::uint8_t{1});       // code alignment
  put(bytes, 0x80b, std::uint8_t{0x78});    // data alignment: -8
  put(bytes, 0x80c, std::uint8_t{16});      // return address: rip
  // CFA is rsp+8, the return address lies below it.
  put(bytes, 0x80d, std::uint32_t{0x9008070c});
  put(bytes, 0x811, std::uint8_t{1});
}

TEST(NativeUnwinder, FollowsTheTableInMemory) {
  std::vector<std::byte> bytes(0x2000);  // the rest says DW_CFA_nop
  put_unwind_information(bytes);
  const auto memory = image_with(bytes);
  const auto modules = one_module();
  NativeUnwinder unwinder(memory, modules);
  auto registers = registers_in_image();
  registers.rsp += 8;  // there lies a return address, and then another
  const auto stack =
      unwinder.unwind(registers, Deadline::in(std::chrono::seconds(1)));
  ASSERT_TRUE(stack) << stack.error().text();
  ASSERT_EQ(stack->frames.size(), 4);
  EXPECT_EQ(stack->frames[1].pc, kImage + 0x801);
  EXPECT_EQ(stack->frames[2].pc, kImage + 0x802);
  EXPECT_FALSE(stack->frames[2].module != 0);
  EXPECT_FALSE(stack->frames[3].module);  // a word that is no code
  EXPECT_FALSE(stack->complete);
}

TEST(NativeUnwinder, OverJunkIsBounded) {
  std::mt19937_64 random(20240521);
  const auto modules = one_module();
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> junk(0x2000);
    for (std::byte& byte : junk) {
      byte = static_cast<std::byte>(random());
    }
    put_unwind_information(junk);
    if (round % 2 == 1) {
      put(junk, 8, std::uint32_t{0xffff'ffff});  // so many table entries
    }
    const auto memory = image_with(junk);
    NativeUnwinder unwinder(memory, modules);
    const CpuTime cpu;
    const auto stack = unwinder.unwind(registers_in_image(),
                                       Deadline::in(std::chrono::minutes(2)));
    ASSERT_TRUE(stack) << stack.error().text();
    EXPECT_LE(stack->frames.size(), NativeUnwinder::kMaxFrames);
    EXPECT_LT(cpu.spent(), std::chrono::seconds(30)) << "round " << round;
  }
}

// A DWARF expression that jumps back to itself makes no frame and no end.
TEST(NativeUnwinder, EndlessExpressionComesToAnEnd) {
  std::vector<std::byte> bytes(0x2000);
  put_unwind_information(bytes);
  put(bytes, 0x118, std::uint8_t{0x0f});  // DW_CFA_def_cfa_expression
  put(bytes, 0x119, std::uint8_t{3});     // of 3 bytes
  put(bytes, 0x11a, std::uint8_t{0x2f});  // DW_OP_skip
  put(bytes, 0x11b, std::int16_t{-3});
  const auto memory = image_with(bytes);
  const auto modules = one_module();
  NativeUnwinder unwinder(memory, modules);
  const auto stack = unwinder.unwind(
      registers_in_image(), Deadline::in(std::chrono::milliseconds(50)));
  ASSERT_TRUE(stack) << stack.error().text();
  EXPECT_EQ(stack->frames.size(), 1);
  EXPECT_FALSE(stack->complete);
}

}  // namespace
}  // namespace hangdbg
