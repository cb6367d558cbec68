#include "injector/arch/x86_64/stub_x86_64.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

namespace hangdbg {
namespace {

StubParameters numbered() {
  StubParameters parameters;
  std::uint64_t words[sizeof parameters / 8];
  for (std::size_t i = 0; i < std::size(words); ++i) {
    words[i] = 0xabcd'0000 + i;
  }
  std::memcpy(&parameters, words, sizeof words);
  return parameters;
}

TEST(StubBytes, EndWithTheParameters) {
  const auto parameters = numbered();
  const auto bytes = stub_bytes(parameters);
  ASSERT_EQ(bytes.size(), stub_size());
  ASSERT_GT(bytes.size(), sizeof parameters);
  EXPECT_EQ(std::memcmp(bytes.data() + bytes.size() - sizeof parameters,
                        &parameters, sizeof parameters),
            0);
}

TEST(StubBytes, HaveTheSameCodeForAllParameters) {
  auto one = stub_bytes(StubParameters{});
  auto two = stub_bytes(numbered());
  one.resize(one.size() - sizeof(StubParameters));
  two.resize(two.size() - sizeof(StubParameters));
  EXPECT_EQ(one, two);
  EXPECT_FALSE(std::ranges::all_of(
      one, [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(StubBytes, FitIntoThePageTailOfEveryBuildSeen) {
  EXPECT_LE(stub_size(), 1024);
}

TEST(StubStack, LiesBelowTheRedZoneAndIsAligned) {
  for (const std::size_t extended : {576UL, 832UL, 2696UL, 11008UL, 16384UL}) {
    for (std::uint64_t sp = 0x7fff'ffff'e000; sp < 0x7fff'ffff'e080; ++sp) {
      const auto stack = StubStack::below(Address{sp}, extended);
      EXPECT_EQ(stack.state.value % 16, 0);
      EXPECT_EQ(stack.sp.value % 64, 0);
      EXPECT_LE(stack.state.value + sizeof(StubState), sp - kRedZone);
      EXPECT_LE(stack.sp.value + extended, stack.state.value);
      // The rest is for pthread_create.
      EXPECT_LE(sp - stack.sp.value, StubStack::kNeeded / 2);
    }
  }
}

constexpr Address kStub{0x40'1000};
constexpr Address kStubSp{0x7fff'0000};
constexpr std::uint64_t kElsewhere = 0x7f12'3456'7890;

bool inside(Address pc, Address sp, std::uint64_t word) {
  Registers now;
  now.raw.rip = pc.value;
  now.raw.rsp = sp.value;
  return inside_stub(now, kStub, kStubSp, word);
}

TEST(InsideStub, ByItsPc) {
  const Address last = kStub + (stub_size() - 1);
  EXPECT_TRUE(inside(kStub, kStubSp, 0));
  EXPECT_TRUE(inside(last, kStubSp, 0));
  EXPECT_TRUE(inside(last, kStubSp + 4096, 0));  // on its way out
  EXPECT_FALSE(inside(last + 1, kStubSp, 0));
  EXPECT_FALSE(inside(kStub - 1, kStubSp, 0));
}

TEST(InsideStub, ByTheReturnAddressOfWhatItCalled) {
  const Address libc{kElsewhere};
  const std::uint64_t returns = (kStub + 100).value;
  EXPECT_TRUE(inside(libc, kStubSp - 8, returns));
  EXPECT_TRUE(inside(libc, kStubSp - 9000, returns));
  // Back in its own code, the word is only what the stub left there.
  EXPECT_FALSE(inside(libc, kStubSp, returns));
  EXPECT_FALSE(inside(libc, kStubSp + 8, returns));
  // Deep in its own code: the word is its own.
  EXPECT_FALSE(inside(libc, kStubSp - 8, kElsewhere));
  EXPECT_FALSE(inside(libc, kStubSp - 8, 0x246));  // flags
  EXPECT_FALSE(inside(libc, kStubSp - 8, (kStub + stub_size()).value));
}

Registers distinct() {
  Registers registers;
  auto& raw = registers.raw;
  raw.rax = 1, raw.rbx = 2, raw.rcx = 3, raw.rdx = 4, raw.rsi = 5, raw.rdi = 6;
  raw.rbp = 7, raw.rsp = 8, raw.r8 = 9, raw.r9 = 10, raw.r10 = 11, raw.r11 = 12;
  raw.r12 = 13, raw.r13 = 14, raw.r14 = 15, raw.r15 = 16, raw.rip = 17;
  raw.eflags = 18, raw.orig_rax = static_cast<unsigned long long>(-1);
  raw.fs_base = 20, raw.cs = 21, raw.ss = 22;
  return registers;
}

TEST(SaveRegisters, EachInItsPlace) {
  StubParameters p;
  p.signal_mask = 99;
  save_registers(p, distinct());
  const std::vector<std::uint64_t> saved = {
      p.rax, p.rbx, p.rcx, p.rdx, p.rsi, p.rdi, p.rbp, p.rsp, p.r8,
      p.r9,  p.r10, p.r11, p.r12, p.r13, p.r14, p.r15, p.rip, p.rflags};
  for (std::size_t i = 0; i < saved.size(); ++i) {
    EXPECT_EQ(saved[i], i + 1);
  }
  EXPECT_EQ(p.signal_mask, 99);
}

TEST(SaveRegisters, AnInterruptedCallIsEnteredAgain) {
  auto registers = distinct();
  registers.raw.orig_rax = SYS_clock_nanosleep;
  registers.raw.rax = static_cast<unsigned long long>(-516);
  StubParameters parameters;
  save_registers(parameters, registers);
  EXPECT_EQ(parameters.rax, SYS_restart_syscall);
  EXPECT_EQ(parameters.rip, 17 - 2);
}

TEST(StubRegisters, DifferInThreePlacesOnly) {
  auto own = distinct();
  own.raw.orig_rax = SYS_futex;
  auto entering = stub_registers(own, kStub, kStubSp);
  EXPECT_EQ(entering.pc(), kStub);
  EXPECT_EQ(entering.sp(), kStubSp);
  EXPECT_FALSE(entering.in_syscall());
  entering.raw.rip = own.raw.rip;
  entering.raw.rsp = own.raw.rsp;
  entering.raw.orig_rax = own.raw.orig_rax;
  EXPECT_EQ(std::memcmp(&entering.raw, &own.raw, sizeof own.raw), 0);
}

}  // namespace
}  // namespace hangdbg
