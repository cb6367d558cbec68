#include "inspector/native/call_site_x86_64.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace hangdbg {
namespace {

using namespace std::string_view_literals;

constexpr Address kCode{0x40'0000};
constexpr std::size_t kSize = 0x2000;

// `code` at an offset of otherwise empty memory; a pointer to kCode + 0x700
// lies at 0x800.
FakeMemory with(std::size_t at, std::string_view code) {
  std::vector<std::byte> bytes(kSize);
  const std::uint64_t pointer = kCode.value + 0x700;
  std::memcpy(bytes.data() + 0x800, &pointer, sizeof pointer);
  std::memcpy(bytes.data() + at, code.data(), code.size());
  FakeMemory memory;
  memory.add(kCode, bytes);
  return memory;
}

std::optional<CallSite> call_by(std::string_view code) {
  return call_before(with(0x100, code), kCode + 0x100 + code.size());
}

TEST(CallBefore, KnowsEveryForm) {
  for (const std::string_view code : {
           "\xff\xd0"sv,                          // *%rax
           "\x41\xff\xd3"sv,                      // *%r11
           "\xff\x13"sv,                          // *(%rbx)
           "\xff\x50\x18"sv,                      // *0x18(%rax)
           "\xff\x54\x24\x08"sv,                  // *8(%rsp)
           "\xff\x14\xc3"sv,                      // *(%rbx,%rax,8)
           "\xff\x90\x00\x01\x00\x00"sv,          // *0x100(%rax)
           "\x41\xff\x94\x24\x00\x01\x00\x00"sv,  // *0x100(%r12)
           "\xff\x14\xc5\x00\x10\x40\x00"sv,      // *0x401000(,%rax,8)
       }) {
    const auto call = call_by(code);
    ASSERT_TRUE(call) << testing::PrintToString(code);
    EXPECT_FALSE(call->target);
  }
}

TEST(CallBefore, KnowsWhereItLeads) {
  const auto direct = call_by("\xe8\x00\x02\x00\x00"sv);
  ASSERT_TRUE(direct);
  EXPECT_EQ(direct->target, kCode + 0x100 + 5 + 0x200);
  const auto backward = call_by("\xe8\x00\xff\xff\xff"sv);
  ASSERT_TRUE(backward);
  EXPECT_EQ(backward->target, kCode + 5);
  const auto by_pointer = call_by("\xff\x15\xfa\x06\x00\x00"sv);
  ASSERT_TRUE(by_pointer);
  EXPECT_EQ(by_pointer->target, kCode + 0x700);
}

TEST(CallBefore, OtherCodeIsNone) {
  for (const std::string_view code : {
           "\xff\xe0"sv,                  // jmp *%rax
           "\xe9\x00\x02\x00\x00"sv,      // jmp
           "\xff\x75\x08"sv,              // push 8(%rbp)
           "\xe8\x00\x00\x00\x7f"sv,      // calls where nothing is
           "\xff\x50\x18\x90"sv,          // a call and a nop
           "\x00\x00\x00\x00\x00\x00"sv,  // nothing
       }) {
    EXPECT_FALSE(call_by(code)) << testing::PrintToString(code);
  }
}

TEST(CallBefore, OnTheFirstPageThereIs) {
  EXPECT_TRUE(call_before(with(0, "\xff\xd0"), kCode + 2));
  EXPECT_FALSE(call_before(with(0, "\xff\xd0"), kCode + 1));
  EXPECT_FALSE(call_before(with(0, "\xff\xd0"), kCode));
}

TEST(BehindStub, IsThePointersTarget) {
  EXPECT_EQ(
      behind_stub(with(0x100, "\xff\x25\xfa\x06\x00\x00"sv), kCode + 0x100),
      kCode + 0x700);
  EXPECT_EQ(
      behind_stub(with(0x100, "\xf3\x0f\x1e\xfa\xf2\xff\x25\xf5\x06\0\0"sv),
                  kCode + 0x100),
      kCode + 0x700);
  EXPECT_EQ(behind_stub(with(0x100, "\x55\x48\x89\xe5"), kCode + 0x100),
            kCode + 0x100);
}

TEST(JumpsOutOf, AreThoseThatLeave) {
  const AddressRange function{kCode + 0x100, kCode + 0x140};
  const auto jumps = [&](std::string_view code) {
    return jumps_out_of(with(0x100, code), function);
  };
  EXPECT_EQ(jumps("\x90\xc3"), std::vector<Address>{});
  EXPECT_EQ(jumps("\xe9\x10\x00\x00\x00"sv), std::vector<Address>{});
  EXPECT_EQ(jumps("\xe9\x00\x02\x00\x00"sv),
            std::vector<Address>{kCode + 0x305});
  EXPECT_EQ(jumps("\x90\xff\xe0"), std::vector<Address>{Address{}});
}

}  // namespace
}  // namespace hangdbg
